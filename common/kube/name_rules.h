#pragma once

// Kubernetes' rules for names and keys, as predicates. Pure.
#include <cstddef>
#include <string_view>

namespace basalt::kube {

inline constexpr size_t kMaxLabel = 63;
inline constexpr size_t kMaxSubdomain = 253;

// A DNS-1123 label is 1-63 of [a-z0-9-], alphanumeric at both ends.
bool IsDnsLabel(std::string_view name);
// A DNS-1123 subdomain is labels (here without their own limit of 63) joined by dots, at most 253 bytes in all.
bool IsDnsSubdomain(std::string_view name);
// The name part of a label key is 1-63 of [A-Za-z0-9-_.], alphanumeric at both ends. Upstream's rule for job names is
// the same.
bool IsQualifiedPart(std::string_view name);
// A label or annotation key is an optional subdomain and "/", then a qualified part.
bool IsQualifiedKey(std::string_view key);
// A label's value is empty or a qualified part.
bool IsLabelValue(std::string_view value);
// An environment variable's name is printable ASCII without '='.
bool IsEnvName(std::string_view name);

}  // namespace basalt::kube
