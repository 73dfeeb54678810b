#include "common/identity/denied.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/identity/user_token.h"

namespace basalt::identity {

namespace {

constexpr std::string_view kUserScheme = "user:";

// Returns the name with each %XX replaced by its byte.
std::string Decoded(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escaped =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    name += is_escaped ? static_cast<char>(byte) : text[i];
    if (is_escaped) i += 2;
  }
  return name;
}

}  // namespace

absl::StatusOr<DeniedUris> ParseDenied(std::string_view text) {
  DeniedUris denied;
  int number = 0;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    const std::string_view line = ToStd(absl::StripAsciiWhitespace(part));
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with(kUserScheme) && UriOfUser(Decoded(line.substr(kUserScheme.size()))) != line) {
      return Invalid(fmt::format("line {}: '{}' has to be written as '{}'", number, Excerpt(line),
                                 Excerpt(UriOfUser(Decoded(line.substr(kUserScheme.size()))))));
    }
    const bool is_uri = line.starts_with("spiffe://") || line.starts_with(kUserScheme);
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
