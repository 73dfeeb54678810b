#include "common/http/proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace basalt::http {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

struct HostPort {
  std::string host, port;
};

// Splits "host", "host:port", "[v6]:port" and a bare v6 address.
HostPort Split(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return {};
    const std::string_view rest = text.substr(close + 1);
    return {Lower(text.substr(1, close - 1)), std::string(rest.starts_with(':') ? rest.substr(1) : "")};
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return {Lower(text), ""};
  return {Lower(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

// An address in 16 bytes. A v4 address has the form of a v4-mapped v6 address.
using Address = std::array<unsigned char, 16>;
std::optional<Address> ParseAddress(const std::string& text) {
  Address out{};
  if (inet_pton(AF_INET6, text.c_str(), out.data()) == 1) return out;
  out = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (inet_pton(AF_INET, text.c_str(), out.data() + 12) == 1) return out;
  return std::nullopt;
}

bool IsLoopback(const std::string& host, const std::optional<Address>& address) {
  if (host == "localhost") return true;
  if (!address.has_value()) return false;
  const Address v6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return *address == v6 || ((*address)[10] == 0xff && (*address)[12] == 127);
}

bool InBlock(const Address& address, std::string_view block) {
  const size_t slash = block.find('/');
  const std::string base_text(block.substr(0, slash));
  const std::optional<Address> base = ParseAddress(base_text);
  unsigned bits = 0;
  const std::string_view length = block.substr(slash + 1);
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!base.has_value() || error != std::errc() || end != length.data() + length.size()) return false;
  if (base_text.find(':') == std::string::npos) bits += 96;
  if (bits > 128) return false;
  for (unsigned i = 0; i < bits; ++i) {
    if ((((*base)[i / 8] ^ address[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

bool Names(std::string_view entry, const HostPort& server, const std::optional<Address>& address) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return address.has_value() && InBlock(*address, entry);
  HostPort wanted = Split(entry);
  if (wanted.host.empty() || (!wanted.port.empty() && wanted.port != server.port)) return false;
  if (address.has_value()) return ParseAddress(wanted.host) == address;
  if (wanted.host.starts_with("*.")) wanted.host.erase(0, 1);
  if (wanted.host.starts_with('.')) return server.host.ends_with(wanted.host);
  return server.host == wanted.host || server.host.ends_with("." + wanted.host);
}

std::string Variable(const Environment& environment, const char* capitals, const char* small) {
  const std::string value = environment(capitals);
  return value.empty() ? environment(small) : value;
}

}  // namespace

std::string ProxyFor(std::string_view url, const Environment& environment) {
  const bool tls = url.starts_with("https://");
  std::string proxy =
      tls ? Variable(environment, "HTTPS_PROXY", "https_proxy") : Variable(environment, "HTTP_PROXY", "http_proxy");
  if (proxy.empty()) return "";
  const size_t scheme = url.find("://");
  std::string_view authority = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  HostPort server =
      Split(authority.substr(authority.find('@') == std::string_view::npos ? 0 : authority.find('@') + 1));
  if (server.port.empty()) server.port = tls ? "443" : "80";
  const std::optional<Address> address = ParseAddress(server.host);
  if (IsLoopback(server.host, address)) return "";
  const std::string exempt = Variable(environment, "NO_PROXY", "no_proxy");
  std::string_view rest = exempt;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (!entry.empty() && Names(entry, server, address)) return "";
  }
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

std::string WithoutUser(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  // Cut up to the last '@' of all, since a password may have an unescaped '/'.
  const size_t at = url.rfind('@');
  if (at == std::string_view::npos || at < from) return std::string(url);
  return std::string(url.substr(0, from)) + std::string(url.substr(at + 1));
}

std::string CheckProxyUrl(std::string_view proxy_url) {
  for (const std::string_view scheme : {"http://", "https://", "socks5://", "socks5h://"}) {
    if (proxy_url.starts_with(scheme) && proxy_url.size() > scheme.size()) return "";
  }
  // The message does not contain the URL itself, which may have a password.
  return "it is no http, https or socks5 URL";
}

}  // namespace basalt::http
