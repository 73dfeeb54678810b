#pragma once

// Which proxy leads to a server, by the environment and by the rules that Kubernetes' own clients have. Pure.
#include <functional>
#include <string>
#include <string_view>

namespace basalt::http {

// The value of a variable; empty = not set.
using Environment = std::function<std::string(const char* name)>;

// HTTPS_PROXY or HTTP_PROXY by the URL's scheme (capitals first, then small letters), unless NO_PROXY names the host:
// "*", "example.com" (also what is below it), ".example.com" (only what is below it), an address, a block of addresses,
// each with ":port" or for every port. Loopback is never reached by a proxy. Empty = none.
std::string ProxyFor(std::string_view url, const Environment& environment);

// The URL as it may be shown: without the user and the password that may stand in front of the host.
std::string WithoutUser(std::string_view url);

// "" where curl can use it, else why not: http, https and socks5 are known.
std::string CheckProxyUrl(std::string_view proxy_url);

}  // namespace basalt::http
