#pragma once

// What EnsurePodGroup has to do, from the request and the observed group alone (correctness rule 4, job spec 9.8).
// Pure.
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

}  // namespace basalt::pgsvc
