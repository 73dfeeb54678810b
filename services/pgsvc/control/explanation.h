#pragma once

// Why a pod is in its group, derived anew from what is known now. A value.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "common/base/json.h"
#include "common/reconcile/retry.h"
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
// What of the group stays otherwise than the rules would make it now. `observed`, `wanted`: spec; `changing`: the
// members of it that are to be changed.
std::vector<std::string> KeptFields(const json::value& observed, const json::object& wanted,
                                    const std::vector<std::string>& changing);
// What is the matter with the group itself beside that: it is being deleted, or the API server has refused its last
// write in the words of `refusal`.
std::vector<std::string> ObstaclesOf(const kube::v1::ObjectMeta* observed, std::string_view refusal,
                                     const Retry& retry);
// The API server has refused the patch by which the pod names its group.
std::string RefusedLink(std::string_view refusal);
// As its conditions have it.
std::vector<std::string> WhyNotPlaced(const kube::v1::PodGroup& group);

}  // namespace basalt::pgsvc
