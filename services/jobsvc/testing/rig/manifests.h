#pragma once

// Objects in JSON as users and clusters write them, converted from the projected messages of the tests. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"

namespace basalt::jobsvc::testing {

// Name, namespace, labels, annotations and owners.
json::object MetadataJson(const kube::v1::ObjectMeta& meta);
// If decode_error is set, that text replaces the replicas of the first task, and cannot be read as a number.
json::object JobSpecJson(const kube::v1::Job& job);
json::object CommandJson(const kube::v1::Command& command);
// Returns the status as the pod's kubelet reports it.
json::object PodStatusJson(const kube::v1::Pod& pod);
// Returns the status as a scheduler writes it.
json::object PodGroupStatusJson(const kube::v1::PodGroup& group);

}  // namespace basalt::jobsvc::testing
