#pragma once

// Names and label syntax of Kubernetes. Each function returns an empty text for a valid value, else the API server's
// message.
#include <string>
#include <string_view>

namespace basalt::kubesim {

std::string CheckDnsSubdomain(std::string_view name);
std::string CheckDnsLabel(std::string_view name);
// Checks a label or annotation key: [prefix/]name.
std::string CheckQualifiedName(std::string_view name);
std::string CheckLabelValue(std::string_view value);

}  // namespace basalt::kubesim
