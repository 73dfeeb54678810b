#pragma once

// Makes the JSON objects that rules of grouping read from what Kubernetes has of a namespace. Pure.
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/form/group_patch.h"

namespace basalt::pgsvc {

// Rules read in KAI's terms which group a pod names, and which groups exist. `key` is the annotation by which the pod
// names its group (group_emitter.h).

// Returns metadata, node, priority class and scheduler of the pod.
json::value PodObject(const kube::v1::Pod& pod, std::string_view key);

// Whether rules read the two states of a pod alike, but for the group and the subgroup that the pod names.
bool LooksTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key);
// Whether the pod names the same group and subgroup in both states.
bool NamesTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key);

// Returns metadata of the group, and the part of spec that rules read.
json::value GroupObject(const ObservedGroup& group);

}  // namespace basalt::pgsvc
