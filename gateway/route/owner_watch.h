#pragma once

// An interest in owners of pods names their kind as an owner reference does: "objects/<apiVersion>/<kind>". Pure.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt::gateway {

struct OwnerKind {
  std::string group;  // Empty for the core group.
  std::string version;
  std::string kind;
};

bool IsOwnerWatch(std::string_view watch);
// INVALID_ARGUMENT if the watch names no apiVersion with a kind. PERMISSION_DENIED for Secrets, which no replica may
// read.
absl::StatusOr<OwnerKind> OwnerKindOf(std::string_view watch);

}  // namespace basalt::gateway
