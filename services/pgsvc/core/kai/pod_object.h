#pragma once

// What Kubernetes has of a namespace, as rules of grouping read objects: JSON. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"

namespace basalt::pgsvc {

// Metadata, node, priority class and scheduler of the pod.
json::value PodObject(const kube::v1::Pod& pod);

// Whether rules see the two states of a pod alike, but for the group and the subgroup that the pod names.
bool LooksTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b);
// Whether the pod names the same group and subgroup in both states.
bool NamesTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b);

// Metadata and spec of the group.
json::value KaiGroupObject(const kube::v1::KaiPodGroup& group);

}  // namespace basalt::pgsvc
