#pragma once

// Makes the JSON of a Volcano PodGroup, for the creates and patches of EnsurePodGroup (job spec 9.8). Pure.
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/base/json.h"

namespace basalt::kube {

// Returns whether one of the fields differs that job spec 9.8 keeps up to date: priorityClassName, minMember,
// minResources (by value), minTaskMember, subGroupPolicy; and networkTopology (S31). Ignores queue, labels, annotations
// and owner.
bool PodGroupDiffers(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted);

// Returns spec as JSON. Fields without a value are left out, as Go clients do.
json::object PodGroupSpecJson(const v1::PodGroupSpec& spec);

// Returns the whole object for a create. The job owns it; our annotations have the job's UID and version.
std::string PodGroupBody(const podgroup::v1::EnsurePodGroupRequest& request);

// Returns the merge patch from `observed` to `wanted`, with only the fields that differ, and nulls for removed fields.
// Groups are patched, never PUT, so that no write of ours overwrites the scheduler's status.
std::string PodGroupPatch(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted);

}  // namespace basalt::kube
