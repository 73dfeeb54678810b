#include "common/identity/denied.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"

namespace basalt::identity {

absl::StatusOr<DeniedUris> ParseDenied(std::string_view text) {
  DeniedUris denied;
  int number = 0;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    const std::string_view line = ToStd(absl::StripAsciiWhitespace(part));
    if (line.empty() || line.front() == '#') continue;
    const bool is_uri = line.starts_with("spiffe://") || line.starts_with("user:");
    if (!is_uri || line.find_first_of(" \t") != std::string_view::npos) {
      return Invalid(
          fmt::format("line {}: '{}' has to be the URI of one identity, spiffe://… or user:…", number, Excerpt(line)));
    }
    denied.emplace(line);
  }
  return denied;
}

void DeniedList::Set(DeniedUris uris) {
  MutexLock lock(mutex_);
  uris_ = std::move(uris);
}

bool DeniedList::Has(const std::vector<std::string>& uris) const {
  MutexLock lock(mutex_);
  for (const std::string& uri : uris) {
    if (uris_.contains(uri)) return true;
  }
  return false;
}

}  // namespace basalt::identity
