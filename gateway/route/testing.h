#pragma once

// Builds objects for tests of the gateway, each in one line.
#include <string>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway::testing {

inline void FillMeta(kube::v1::ObjectMeta& meta, const std::string& name, int64_t rv, const std::string& uid) {
  meta.set_namespace_("ns");
  meta.set_name(name);
  meta.set_uid(uid.empty() ? "uid-" + name : uid);
  meta.set_resource_version(rv);
}

inline kube::v1::Object Job(const std::string& name, int64_t rv, const std::string& uid = "") {
  kube::v1::Object object;
  FillMeta(*object.mutable_job()->mutable_meta(), name, rv, uid);
  return object;
}

inline kube::v1::Object JobPod(const std::string& job, const std::string& name, int64_t rv,
                               const std::string& uid = "") {
  kube::v1::Object object;
  kube::v1::Pod& pod = *object.mutable_pod();
  pod.set_namespace_("ns");
  pod.set_name(name);
  pod.set_uid(uid.empty() ? "uid-" + name : uid);
  pod.set_resource_version(rv);
  pod.set_job_name(job);
  pod.set_owner_kind("Job");
  pod.set_owner_api_version("batch.volcano.sh/v1alpha1");
  pod.set_owner_uid("uid-" + job);
  pod.set_scheduler_name("volcano");
  return object;
}

inline kube::v1::Object PlainPod(const std::string& name, int64_t rv, const std::string& owner_uid = "") {
  kube::v1::Object object;
  kube::v1::Pod& pod = *object.mutable_pod();
  pod.set_namespace_("ns");
  pod.set_name(name);
  pod.set_uid("uid-" + name);
  pod.set_resource_version(rv);
  pod.set_owner_uid(owner_uid);
  if (!owner_uid.empty()) pod.set_owner_kind("ReplicaSet");
  pod.set_scheduler_name("volcano");
  return object;
}

inline kube::v1::Object PodGroup(const std::string& name, int64_t rv, const std::string& queue,
                                 const std::string& job = "") {
  kube::v1::Object object;
  kube::v1::PodGroup& group = *object.mutable_pod_group();
  FillMeta(*group.mutable_meta(), name, rv, "");
  group.mutable_spec()->set_queue(queue);
  group.set_phase("Pending");
  if (!job.empty()) {
    kube::v1::OwnerReference& owner = *group.mutable_meta()->add_owner_references();
    owner.set_api_version("batch.volcano.sh/v1alpha1");
    owner.set_kind("Job");
    owner.set_name(job);
    owner.set_controller(true);
  }
  return object;
}

inline kube::v1::Object Queue(const std::string& name, int64_t rv) {
  kube::v1::Object object;
  FillMeta(*object.mutable_queue()->mutable_meta(), name, rv, "");
  object.mutable_queue()->mutable_meta()->clear_namespace_();
  return object;
}

inline kube::v1::Object Command(const std::string& name, int64_t rv, const std::string& kind,
                                const std::string& api_version, const std::string& target) {
  kube::v1::Object object;
  FillMeta(*object.mutable_command()->mutable_meta(), name, rv, "");
  object.mutable_command()->mutable_target()->set_kind(kind);
  object.mutable_command()->mutable_target()->set_api_version(api_version);
  object.mutable_command()->mutable_target()->set_name(target);
  return object;
}

}  // namespace basalt::gateway::testing
