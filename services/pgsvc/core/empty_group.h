#pragma once

// Which groups of plain pods are there for nothing: a scheduler keeps room in the queue for a group that no pod is in.
// Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

// The group was made for plain pods, to judge by its name, and no job asked for it: the group of a job waits for its
// pods. A job may be called "podgroup", so that the name alone does not tell.
bool IsMadeForPods(const kube::v1::PodGroup& group);

// The controller among these owners of a workload, in words ("LeaderWorkerSet lws"), where that controller makes the
// groups of the workload's pods itself. Empty: it does not, or there is none.
std::string MakerOfGroups(const google::protobuf::RepeatedPtrField<kube::v1::OwnerReference>& owners);

// In words, for the Event of such a pod that names no group.
std::string WhyItIsLeftTo(std::string_view maker);

struct EmptyGroup {
  const kube::v1::PodGroup& group;
  // The owner that the group is named after; null: no watch shows one.
  const kube::v1::Workload* owner = nullptr;
  bool are_workloads_shown = true;  // Else nobody knows whether a workload wants pods.
  bool have_pods_moved = false;     // The last pods of the group name another one by now.
};
// Whether the group, in which no pod is and which no pod names, is to go if that lasts. It stays where its owner wants
// pods: a quota or a webhook may refuse them.
bool IsForNothing(const EmptyGroup& empty);

}  // namespace basalt::pgsvc
