#include "services/pgsvc/core/empty_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/group_update.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// Controllers that own workloads and group the pods of these workloads themselves, some time after the pods are made.
// The StatefulSet of a LeaderWorkerSet's workers belongs to the leader's pod; nothing else gives a workload to a pod.
struct Maker {
  std::string_view api_group;  // With a slash; for the core group, the version.
  std::string_view kind;
};
constexpr Maker kMakers[] = {{"leaderworkerset.x-k8s.io/", "LeaderWorkerSet"}, {"v1", "Pod"}};

bool IsMaker(const kube::v1::OwnerReference& owner) {
  return std::any_of(std::begin(kMakers), std::end(kMakers), [&owner](const Maker& maker) {
    return owner.kind() == maker.kind && owner.api_version().starts_with(maker.api_group);
  });
}

bool IsOfWorkload(const kube::v1::PodGroup& group) {
  const auto& owners = group.meta().owner_references();
  return std::any_of(owners.begin(), owners.end(), [](const kube::v1::OwnerReference& owner) {
    return kube::FindWorkloadKind(owner.api_version(), owner.kind()) != nullptr;
  });
}

}  // namespace

bool IsMadeForPods(const kube::v1::PodGroup& group) {
  if (!IsPlainGroupName(group.meta().name()) || FindKey(group.meta().annotations(), kube::kBasaltVersionKey)) {
    return false;
  }
  const auto& owners = group.meta().owner_references();
  return std::none_of(owners.begin(), owners.end(), [](const kube::v1::OwnerReference& owner) {
    return owner.kind() == kube::kJobs.name && owner.api_version() == kube::kJobApiVersion;
  });
}

std::string MakerOfGroups(const google::protobuf::RepeatedPtrField<kube::v1::OwnerReference>& owners) {
  const auto maker = std::find_if(owners.begin(), owners.end(), [](const kube::v1::OwnerReference& owner) {
    return owner.controller() && IsMaker(owner);
  });
  return maker == owners.end() ? "" : fmt::format("{} {}", maker->kind(), maker->name());
}

std::string WhyItIsLeftTo(std::string_view maker) {
  return fmt::format(
      "{} owns the pod's owner and makes the groups of such pods itself: none is made here, and the pod is not "
      "scheduled before its annotation {} names one",
      maker, kube::kGroupNameKey);
}

bool IsForNothing(const EmptyGroup& empty) {
  if (!IsMadeForPods(empty.group) || empty.group.meta().deletion_ms() != 0) return false;
  if (empty.have_pods_moved) return true;
  if (empty.owner == nullptr) return empty.are_workloads_shown || !IsOfWorkload(empty.group);
  return WantsNoPods(*empty.owner) || empty.owner->finished() ||
         !MakerOfGroups(empty.owner->meta().owner_references()).empty();
}

}  // namespace basalt::pgsvc
