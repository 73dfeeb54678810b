#pragma once

// The way from a pod up to the top of its owners (pod-grouper 3). Pure: the lookup of owners is passed in.
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

// Returns the object that a reference names, in the namespace of the pod. NOT_FOUND if it does not exist.
// PERMISSION_DENIED if it may not be read.
using FindOwner = std::function<absl::StatusOr<ObjectView>(const OwnerReference& reference, std::string_view ns)>;

inline constexpr size_t kMostOwners = 64;

// Returns the owners from the direct one up; empty if the pod has none, or if its direct owner may not be read. Follows
// the reference with `controller: true`, else the first one (G7). The way ends below an owner that may not be read.
// NOT_FOUND names an owner that is missing or has another UID now. INVALID_ARGUMENT if the owners lead back to one of
// them or to the pod, or if there are more than kMostOwners.
absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod, const FindOwner& find);

// Whether the owner is suspended or scaled to zero. An owner that makes other objects by a calendar keeps its pods
// while it is suspended.
bool WantsNoPods(ObjectView owner);

}  // namespace basalt::pgsvc
