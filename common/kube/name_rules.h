#pragma once

// Kubernetes' rules for names and keys, as predicates. Pure.
#include <cstddef>
#include <string_view>

namespace basalt::kube {

inline constexpr size_t kMaxLabel = 63;
inline constexpr size_t kMaxSubdomain = 253;

// DNS-1123 label: 1-63 of [a-z0-9-], alphanumeric at both ends.
bool IsDnsLabel(std::string_view name);
// DNS-1123 subdomain: labels (here without their own bound of 63) joined by dots, at most 253 in all.
bool IsDnsSubdomain(std::string_view name);
// The name part of a label key, and upstream's rule for job names: 1-63 of [A-Za-z0-9-_.], alphanumeric at both ends.
bool IsQualifiedPart(std::string_view name);
// A label or annotation key: an optional subdomain and "/", then a qualified part.
bool IsQualifiedKey(std::string_view key);
// A label's value: empty, or a qualified part.
bool IsLabelValue(std::string_view value);
// An environment variable's name: printable ASCII without '='.
bool IsEnvName(std::string_view name);

}  // namespace basalt::kube
