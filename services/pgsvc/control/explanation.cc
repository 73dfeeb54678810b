#include "services/pgsvc/control/explanation.h"

#include <fmt/format.h>

namespace basalt::pgsvc {

void SetPhase(int64_t least, podgroup::v1::GroupMembers& members) {
  using Members = podgroup::v1::GroupMembers;
  if (members.pending() + members.running() == 0) {
    members.set_phase(members.failed() == 0 ? Members::PHASE_SUCCEEDED : Members::PHASE_FAILED);
    return;
  }
  const bool runs = members.running() > 0 && members.running() + members.succeeded() >= least;
  members.set_phase(runs ? Members::PHASE_RUNNING : Members::PHASE_PENDING);
}

std::vector<std::string> WhyNotPlaced(const kube::v1::PodGroup& group) {
  std::vector<std::string> reasons;
  for (const kube::v1::PodGroupCondition& condition : group.conditions()) {
    if (condition.type() != "Unschedulable" || condition.status() != "True") continue;
    reasons.push_back(fmt::format("{}: {}", condition.reason(), condition.message()));
  }
  return reasons;
}

}  // namespace basalt::pgsvc
