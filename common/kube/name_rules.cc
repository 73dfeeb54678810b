#include "common/kube/name_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace basalt::kube {
namespace {

// Does not use <cctype>, whose answers depend on the locale.
bool IsLowerAlnum(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

bool IsLabelOfAnyLength(std::string_view name) {
  return !name.empty() && IsLowerAlnum(name.front()) && IsLowerAlnum(name.back()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

}  // namespace

bool IsDnsLabel(std::string_view name) { return name.size() <= kMaxLabel && IsLabelOfAnyLength(name); }

bool IsDnsSubdomain(std::string_view name) {
  if (name.empty() || name.size() > kMaxSubdomain) return false;
  for (size_t start = 0;;) {
    const size_t dot = name.find('.', start);
    if (!IsLabelOfAnyLength(name.substr(start, dot == name.npos ? name.npos : dot - start))) return false;
    if (dot == name.npos) return true;
    start = dot + 1;
  }
}

bool IsQualifiedPart(std::string_view name) {
  return !name.empty() && name.size() <= kMaxLabel && absl::ascii_isalnum(name.front()) &&
         absl::ascii_isalnum(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsQualifiedKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == key.npos) return IsQualifiedPart(key);
  return IsDnsSubdomain(key.substr(0, slash)) && IsQualifiedPart(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsQualifiedPart(value); }

bool IsEnvName(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

}  // namespace basalt::kube
