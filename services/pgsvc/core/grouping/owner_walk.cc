#include "services/pgsvc/core/grouping/owner_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "common/base/status.h"

namespace basalt::pgsvc {

absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod, const FindOwner& find) {
  std::vector<ObjectView> owners;
  std::set<std::string_view> uids = {pod.uid()};
  ObjectView object = pod;
  for (;;) {
    const std::vector<OwnerReference> references = object.owners();
    if (references.empty()) return owners;
    auto reference =
        std::find_if(references.begin(), references.end(), [](const auto& one) { return one.is_controller; });
    if (reference == references.end()) reference = references.begin();
    const absl::StatusOr<ObjectView> owner = find(*reference, pod.ns());
    if (absl::IsPermissionDenied(owner.status())) return owners;
    if (!owner.ok()) return owner.status();
    if (owner->uid() != reference->uid) {
      return absl::NotFoundError(fmt::format("{} {}/{} of UID {}, which {} names as its owner, is gone",
                                             reference->kind, pod.ns(), reference->name, reference->uid,
                                             object.Described()));
    }
    if (!uids.insert(owner->uid()).second) {
      return Invalid(
          fmt::format("{}: metadata.ownerReferences: the owners lead back to {}", pod.Described(), owner->Described()));
    }
    if (owners.size() == kMostOwners) {
      return Invalid(fmt::format("{}: metadata.ownerReferences: more than {} owners stand above each other",
                                 pod.Described(), kMostOwners));
    }
    owners.push_back(*owner);
    object = *owner;
  }
}

bool WantsNoPods(ObjectView owner) {
  const auto is_zero = [owner](std::string_view field) {
    const absl::StatusOr<std::optional<int32_t>> count = owner.IntAt({"spec", field});
    return count.ok() && *count == 0;
  };
  if (is_zero("replicas") || is_zero("parallelism")) return true;
  if (owner.kind().starts_with("Cron") || owner.kind().starts_with("Scheduled")) return false;
  const auto is_true = [](const json::value* value) { return value != nullptr && *value == json::value(true); };
  return is_true(owner.At({"spec", "suspend"})) || is_true(owner.At({"spec", "runPolicy", "suspend"}));
}

}  // namespace basalt::pgsvc
