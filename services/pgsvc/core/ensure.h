#pragma once

// What EnsurePodGroup and DeletePodGroup have to do, from the request and the observed group alone (correctness rule 4,
// job spec 9.8). Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"

namespace basalt::pgsvc {

enum class EnsureStep {
  kAnswer,   // The group is as wanted.
  kCreate,   // There is none.
  kPatch,    // It is the right one, with other fields.
  kReplace,  // Of an older version, or named in the kill under way: delete it by UID; until it is gone the answer is
             // FAILED_PRECONDITION.
  kWait,     // It is being deleted: FAILED_PRECONDITION.
  kForeign,  // The name is held by another owner's group: ALREADY_EXISTS.
};

// `observed` is null where the group does not exist.
EnsureStep NextEnsureStep(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup* observed);

enum class DeleteStep {
  kRead,     // The group of that UID is not known here: the watch may be behind. Ask the API server.
  kDelete,   // By UID.
  kGoing,    // It is being deleted: that is the answer.
  kGone,     // That is the answer.
  kForeign,  // It has another owner: FAILED_PRECONDITION.
};

// `was_read`: `observed` is what the API server has said since the request came.
DeleteStep NextDeleteStep(const podgroup::v1::DeletePodGroupRequest& request, const kube::v1::PodGroup* observed,
                          bool was_read);

}  // namespace basalt::pgsvc
