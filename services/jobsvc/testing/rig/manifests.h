#pragma once

// What users and clusters write, as JSON: the way back from the projected messages that tests are written in. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"

namespace basalt::jobsvc::testing {

// Name, namespace, labels, annotations and owners.
json::object MetadataJson(const kube::v1::ObjectMeta& meta);
// Of a job whose decode_error is set the replicas of the first task are that text, which cannot be read as a number.
json::object JobSpecJson(const kube::v1::Job& job);
json::object CommandJson(const kube::v1::Command& command);
// As its kubelet tells of a pod.
json::object PodStatusJson(const kube::v1::Pod& pod);
// As a scheduler writes it.
json::object PodGroupStatusJson(const kube::v1::PodGroup& group);

}  // namespace basalt::jobsvc::testing
