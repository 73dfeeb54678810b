#pragma once

// What Kubernetes has of a namespace, as rules of grouping read objects: JSON. Pure.
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/form/group_patch.h"

namespace basalt::pgsvc {

// Rules are told in KAI's terms which group a pod names, and what groups there are. `key`: the annotation by which the
// pod names its group (group_emitter.h).

// Metadata, node, priority class and scheduler of the pod.
json::value PodObject(const kube::v1::Pod& pod, std::string_view key);

// Whether rules see the two states of a pod alike, but for the group and the subgroup that the pod names.
bool LooksTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key);
// Whether the pod names the same group and subgroup in both states.
bool NamesTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key);

// Metadata of the group, and spec as far as rules read it.
json::value GroupObject(const ObservedGroup& group);

}  // namespace basalt::pgsvc
