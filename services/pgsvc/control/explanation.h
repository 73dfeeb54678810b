#pragma once

// Explains why a pod is in its group, derived anew from the present state. A value.
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
#include "services/pgsvc/control/group/group_entry.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

struct Explanation {
  absl::StatusOr<PodGrouping> found;
  std::vector<std::string> owners;           // As "ReplicaSet default/web-1", the direct owner first.
  std::vector<std::string> waits_for = {};   // Facts that were not reported yet, so that the grouping waits.
  std::vector<std::string> unreadable = {};  // Owners that may not be read, each with the reason.
  // The group as all of its pods want it. Nullopt if the pod is in no group of ours, or if the rules cannot decide now.
  std::optional<Grouping> plan = {};
  RenderedGroup rendered = {};                     // The plan in the form of its scheduler.
  int64_t least_pods = 0;                          // How many pods have to run for the planned group to run.
  bool is_there = false;                           // Whether Kubernetes has the group.
  std::vector<std::string> differing_fields = {};  // Fields that an update of the group would change.
  podgroup::v1::GroupMembers members = {};
  std::vector<std::string> unschedulable = {};  // Why Volcano's scheduler has not placed the group, in its own texts.
  std::string queue_problem = {};       // Why no group of the queue is placed; empty if nothing known prevents it.
  std::vector<std::string> notes = {};  // Obstacles, and consequences of the plan that are easily missed.
};

// Sets the phase that follows from the counts in `members`. `least` is the number of pods that have to run for the
// group to run.
void SetPhase(int64_t least, podgroup::v1::GroupMembers& members);
// Describes the fields that the group keeps although the rules would set them otherwise now. `observed` and `wanted`
// are spec; `changing` names the members of spec that an update is going to change.
std::vector<std::string> KeptFields(const json::value& observed, const json::object& wanted,
                                    const std::vector<std::string>& changing);
// Describes other problems of the group itself: it is being deleted, or the API server has refused its last write with
// the message `refusal`. `observed` is null if there is no group; `refusal` is empty if there is no refusal.
std::vector<std::string> ObstaclesOf(const kube::v1::ObjectMeta* observed, std::string_view refusal,
                                     const Retry& retry);
// Describes that the API server has refused the patch by which the pod names its group.
std::string RefusedLink(std::string_view refusal);
// Describes that another program keeps undoing our writes to the group; empty if none does.
std::string DescribeFight(std::string_view name, const GroupEntry& group, absl::Time now);
// Describes that another program keeps undoing the patch by which a pod names the group.
std::string DescribeFightOverLink(std::string_view group);
// Returns the reasons why the scheduler has not placed the group, as the conditions of the group state them.
std::vector<std::string> WhyNotPlaced(const kube::v1::PodGroup& group);

}  // namespace basalt::pgsvc
