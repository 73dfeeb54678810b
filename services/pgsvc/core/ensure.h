#pragma once

// Decides what EnsurePodGroup and DeletePodGroup do, from the request and the observed group alone (correctness rule 4,
// job spec 9.8). Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"

namespace basalt::pgsvc {

enum class EnsureStep {
  kAnswer,  // The group is as requested: answer with it.
  kCreate,  // There is no group.
  kPatch,   // The group is the right one, but differs in fields.
  // The group has an older version, or the kill under way names it: delete it by UID. The answer is FAILED_PRECONDITION
  // until it is gone.
  kReplace,
  kWait,     // The group is being deleted: FAILED_PRECONDITION.
  kForeign,  // Another owner's group has the name: ALREADY_EXISTS.
};

// `observed` is null if the group does not exist.
EnsureStep NextEnsureStep(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup* observed);

enum class DeleteStep {
  // No group of that UID is known here, but the watch may be behind: read it from the API server.
  kRead,
  kDelete,   // Delete the group by its UID.
  kGoing,    // Answer that the group is being deleted.
  kGone,     // Answer that the group is gone.
  kForeign,  // The group has another owner: FAILED_PRECONDITION.
};

// `was_read`: `observed` was read from the API server after the request had come.
DeleteStep NextDeleteStep(const podgroup::v1::DeletePodGroupRequest& request, const kube::v1::PodGroup* observed,
                          bool was_read);

}  // namespace basalt::pgsvc
