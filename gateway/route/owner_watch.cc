#include "gateway/route/owner_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/names.h"

namespace basalt::gateway {
namespace {

constexpr size_t kLongestName = 253;

// Group, version and kind become parts of URL paths.
bool IsPlain(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-'; });
}

}  // namespace

bool IsOwnerWatch(std::string_view watch) { return watch.starts_with(kube::kWatchObjectsPrefix); }

absl::StatusOr<OwnerKind> OwnerKindOf(std::string_view watch) {
  std::string_view rest = IsOwnerWatch(watch) ? watch.substr(kube::kWatchObjectsPrefix.size()) : std::string_view();
  const size_t last = rest.rfind('/');
  const std::string_view kind = last == std::string_view::npos ? std::string_view() : rest.substr(last + 1);
  rest = rest.substr(0, last == std::string_view::npos ? 0 : last);
  const size_t slash = rest.find('/');
  const bool has_group = slash != std::string_view::npos;
  const std::string_view group = has_group ? rest.substr(0, slash) : std::string_view();
  const std::string_view version = has_group ? rest.substr(slash + 1) : rest;
  if (!IsPlain(kind) || !IsPlain(version) || (has_group && !IsPlain(group))) {
    return Invalid(fmt::format("watch '{}' names no apiVersion with a kind", CutUtf8(watch, 127)));
  }
  if (group.empty() && kind == "Secret") {
    return MakeStatus(absl::StatusCode::kPermissionDenied, "Secrets are told to nobody");
  }
  return OwnerKind{std::string(group), std::string(version), std::string(kind)};
}

}  // namespace basalt::gateway
