#pragma once

// Interests in owners of pods name their kind as an owner reference does: "objects/<apiVersion>/<kind>". Pure.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt::gateway {

struct OwnerKind {
  std::string group;  // Empty: the core group.
  std::string version;
  std::string kind;
};

bool IsOwnerWatch(std::string_view watch);
// INVALID_ARGUMENT: the watch names no apiVersion with a kind. PERMISSION_DENIED: Secrets are told to nobody.
absl::StatusOr<OwnerKind> OwnerKindOf(std::string_view watch);

}  // namespace basalt::gateway
