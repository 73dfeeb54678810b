#include "common/http/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace basalt::http {
namespace {

std::string Proxy(std::string_view url, const std::map<std::string, std::string>& variables) {
  return ProxyFor(url, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(ProxyTest, TheSchemeChoosesTheVariable) {
  EXPECT_EQ(Proxy("https://kube:6443", {{"HTTPS_PROXY", "http://p:3128"}}), "http://p:3128");
  EXPECT_EQ(Proxy("https://kube:6443", {{"https_proxy", "p:3128"}}), "http://p:3128");
  EXPECT_EQ(Proxy("https://kube:6443", {{"HTTP_PROXY", "http://p:3128"}}), "");
  EXPECT_EQ(Proxy("http://kube", {{"HTTP_PROXY", "socks5://p:1080"}}), "socks5://p:1080");
  EXPECT_EQ(Proxy("https://kube", {}), "");
}

TEST(ProxyTest, NoProxyNamesHostsDomainsAddressesAndBlocks) {
  const struct {
    const char* url;
    const char* no_proxy;
    bool direct;
  } rows[] = {
      {"https://kube.example.com:6443", "*", true},
      {"https://kube.example.com:6443", "example.com", true},
      {"https://example.com", "example.com", true},
      {"https://badexample.com", "example.com", false},
      {"https://example.com", ".example.com", false},
      {"https://kube.example.com", ".example.com", true},
      {"https://kube.example.com", "*.example.com", true},
      {"https://KUBE.example.com", "a.b, kube.Example.COM ,c", true},
      {"https://kube.example.com:6443", "example.com:6443", true},
      {"https://kube.example.com:6443", "example.com:443", false},
      {"https://kube.example.com", "example.com:443", true},
      {"https://10.1.2.3:6443", "10.0.0.0/8", true},
      {"https://10.1.2.3:6443", "10.2.0.0/16", false},
      {"https://10.1.2.3:6443", "10.1.2.3", true},
      {"https://10.1.2.3:6443", "2.3", false},
      {"https://10.1.2.3:6443", "10.1.2.3/x", false},
      {"https://[fd00::1]:6443", "fd00::/8", true},
      {"https://[fd00::1]:6443", "fd00::1", true},
      {"https://[fd00::1]:6443", "fe00::/8", false},
      {"https://127.0.0.1:6443", "", true},
      {"https://localhost:6443", "", true},
      {"https://[::1]:6443", "", true},
      {"https://127.example.com", "", false},
  };
  for (const auto& row : rows) {
    const std::string proxy = Proxy(row.url, {{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", row.no_proxy}});
    EXPECT_EQ(proxy.empty(), row.direct) << row.url << " with NO_PROXY=" << row.no_proxy;
  }
}

TEST(ProxyTest, AUrlIsShownWithoutItsUser) {
  EXPECT_EQ(WithoutUser("https://me:secret@host:6443/path"), "https://host:6443/path");
  EXPECT_EQ(WithoutUser("https://me:se/cr@et@host"), "https://host");
  EXPECT_EQ(WithoutUser("me:secret@host"), "host");
  for (const char* const url : {"https://host:6443", "https://[::1]:6443/a", "host", ""})
    EXPECT_EQ(WithoutUser(url), url);
}

TEST(ProxyTest, OnlyKnownSchemesAreTaken) {
  for (const char* good : {"http://p", "https://p:1", "socks5://u:p@h:1080"}) EXPECT_EQ(CheckProxyUrl(good), "");
  for (const char* bad : {"", "p:1", "ftp://p", "http://"}) EXPECT_NE(CheckProxyUrl(bad), "") << bad;
}

}  // namespace
}  // namespace basalt::http
