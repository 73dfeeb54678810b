#pragma once

// The JSON of a Volcano PodGroup, as EnsurePodGroup creates and patches it (job spec 9.8). Pure.
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/base/json.h"

namespace basalt::kube {

// Whether one of the fields that job spec 9.8 keeps up to date differs: priorityClassName, minMember, minResources (by
// value), minTaskMember, subGroupPolicy; and networkTopology (S31). Not: queue, labels, annotations, owner.
bool PodGroupDiffers(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted);

// spec as JSON; fields without a value are left out, as Go clients do.
json::object PodGroupSpecJson(const v1::PodGroupSpec& spec);

// The whole object for a create: owned by the job, with UID and version as annotations of ours.
std::string PodGroupBody(const podgroup::v1::EnsurePodGroupRequest& request);

// The merge patch from `observed` to `wanted`: only what differs, explicit nulls for what goes. Groups are patched,
// never PUT, so that the scheduler's status is never overwritten.
std::string PodGroupPatch(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted);

}  // namespace basalt::kube
