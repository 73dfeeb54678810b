#pragma once

// Finds groups of plain pods that serve no purpose: a scheduler reserves capacity of the queue for a group without
// pods. Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

// Whether the group was made for plain pods and not for a job, whose group waits for its pods. The name alone does not
// decide: a job may be called "podgroup".
bool IsMadeForPods(const kube::v1::PodGroup& group);

// Describes the controller among these owners of a workload ("LeaderWorkerSet lws") if that controller makes the groups
// of the workload's pods itself. Empty if there is no such controller.
std::string MakerOfGroups(const google::protobuf::RepeatedPtrField<kube::v1::OwnerReference>& owners);

// Explains, for the Event of such a pod that names no group, why none is made here.
std::string WhyItIsLeftTo(std::string_view maker);

struct EmptyGroup {
  const kube::v1::PodGroup& group;
  // The owner that the group is named after; null if no watch shows one.
  const kube::v1::Workload* owner = nullptr;
  bool are_workloads_shown = true;  // If false, nobody knows whether a workload wants pods.
  bool have_pods_moved = false;     // The last pods of the group name another group now.
};
// Whether the group, which has no pods and which no pod names, is to be deleted if that lasts. The group stays if its
// owner wants pods: a quota or a webhook may refuse them.
bool IsForNothing(const EmptyGroup& empty);

}  // namespace basalt::pgsvc
