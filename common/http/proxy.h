#pragma once

// Chooses the proxy for a server, by the environment and by the rules of Kubernetes' own clients. Pure.
#include <functional>
#include <string>
#include <string_view>

namespace basalt::http {

// Returns the value of a variable. Empty if the variable is not set.
using Environment = std::function<std::string(const char* name)>;

// Returns HTTPS_PROXY or HTTP_PROXY by the URL's scheme (capitals first, then small letters). Empty if none is set, if
// the host is loopback, or if NO_PROXY names the host: "*", "example.com" (also its subdomains), ".example.com" (only
// its subdomains), an address, a block of addresses, each with ":port" or for every port.
std::string ProxyFor(std::string_view url, const Environment& environment);

// Returns the URL without the user and the password that may stand in front of the host, for messages.
std::string WithoutUser(std::string_view url);

// Returns "" if curl can use the URL, else the reason: the scheme must be http, https or socks5.
std::string CheckProxyUrl(std::string_view proxy_url);

}  // namespace basalt::http
