#pragma once

// The way from a pod up to whoever stands above all its owners (pod-grouper 3). Pure: whoever looks an
// owner up is passed in.
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

// The object that a reference of an object in that namespace names. NOT_FOUND: there is none. PERMISSION_DENIED: nobody
// may look.
using FindOwner = std::function<absl::StatusOr<ObjectView>(const OwnerReference& reference, std::string_view ns)>;

inline constexpr size_t kMostOwners = 64;

// The owners from the direct one up; empty: nobody owns the pod, or nobody may look at whoever does. Of several
// references the one with `controller: true` is followed, else the first (G7). An owner that nobody may look at ends
// the way below. NOT_FOUND names an owner that is missing, or that has another UID by now. INVALID_ARGUMENT: the owners
// lead back to one of them, or there are more than kMostOwners.
absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod, const FindOwner& find);

// The owner is suspended or scaled to zero. What makes others by a calendar has its pods all the same while it is
// suspended.
bool WantsNoPods(ObjectView owner);

}  // namespace basalt::pgsvc
