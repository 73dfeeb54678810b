#pragma once

// Names and label syntax of Kubernetes. An empty answer means valid, else the API server's sentence.
#include <string>
#include <string_view>

namespace basalt::kubesim {

std::string CheckDnsSubdomain(std::string_view name);
std::string CheckDnsLabel(std::string_view name);
// Label and annotation keys: [prefix/]name.
std::string CheckQualifiedName(std::string_view name);
std::string CheckLabelValue(std::string_view value);

}  // namespace basalt::kubesim
