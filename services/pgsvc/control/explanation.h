#pragma once

// Why a pod is in its group, derived anew from what is known now. A value.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

struct Explanation {
  absl::StatusOr<PodGrouping> found;
  std::vector<std::string> owners;  // "ReplicaSet default/web-1", the pod's own first.
  std::vector<std::string> waits_for = {};
  std::vector<std::string> unreadable = {};
  std::optional<Grouping> plan = {};  // Of all pods of the group; nothing: the pod is in none.
  RenderedGroup rendered = {};        // Of the plan.
  int64_t least_pods = 0;             // The same.
  bool is_there = false;              // Kubernetes has the group.
  std::vector<std::string> differing_fields = {};
  podgroup::v1::GroupMembers members = {};
  std::vector<std::string> unschedulable = {};  // Why Volcano's scheduler has not placed the group, in its words.
  std::string queue_problem = {};       // Why no group of the queue is placed; empty: as far as is known, any is.
  std::vector<std::string> notes = {};  // What follows from the plan and is easily missed.
};

// `members` has the counts: adds the phase that follows from them. `least`: how many pods have to run for the group to
// run.
void SetPhase(int64_t least, podgroup::v1::GroupMembers& members);
// As its conditions have it.
std::vector<std::string> WhyNotPlaced(const kube::v1::PodGroup& group);

}  // namespace basalt::pgsvc
