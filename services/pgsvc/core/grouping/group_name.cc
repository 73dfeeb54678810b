#include "services/pgsvc/core/grouping/group_name.h"

#include <fmt/format.h>

#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/kube/name_rules.h"

namespace basalt::pgsvc {

namespace {

constexpr size_t kSuffix = 9;  // "-" and 8 hex digits.

// Returns the text in lower case, with "-" for every character but letters, digits and, in a subdomain, dots. Both ends
// are alphanumeric.
std::string Normalised(std::string_view text, bool keeps_dots) {
  std::string name;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (keeps_dots && c == '.');
    name += is_upper ? static_cast<char>(c - 'A' + 'a') : is_kept ? c : '-';
  }
  const size_t first = name.find_first_not_of("-.");
  if (first == std::string::npos) return "g";
  return name.substr(first, name.find_last_not_of("-.") + 1 - first);
}

std::string NameOf(std::string_view text, size_t most, bool is_subdomain) {
  const bool is_name = is_subdomain ? kube::IsDnsSubdomain(text) : kube::IsDnsLabel(text);
  if (is_name) return std::string(text);
  std::string name = fmt::format("{}-{:08x}", Normalised(text, is_subdomain).substr(0, most - kSuffix), Fnv1(text));
  // Dots beside each other, or beside a "-", make labels that do not end as they must: fall back to one label.
  if (is_subdomain && !kube::IsDnsSubdomain(name)) return NameOf(text, most, /*is_subdomain=*/false);
  return name;
}

}  // namespace

std::string GroupNameOf(std::string_view text) { return NameOf(text, kube::kMaxSubdomain, /*is_subdomain=*/true); }
std::string SubGroupNameOf(std::string_view text) { return NameOf(text, kube::kMaxLabel, /*is_subdomain=*/false); }

bool IsNameByRules(std::string_view group) {
  constexpr size_t kUuid = 36;
  if (!group.starts_with("pg-")) return false;
  for (size_t dash = group.find('-'); dash != std::string_view::npos; dash = group.find('-', dash + 1)) {
    const std::string_view rest = group.substr(dash + 1);
    if (rest.size() < kUuid) return false;
    if (IsUuid(rest.substr(0, kUuid)) && (rest.size() == kUuid || rest[kUuid] == '-')) return true;
  }
  return false;
}

}  // namespace basalt::pgsvc
