#pragma once

// Plain pods for the tests of this service.
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc::testing {

// Returns a pod without an owner.
inline kube::v1::Pod BarePod() {
  kube::v1::Pod pod;
  pod.set_namespace_("ns");
  pod.set_name("p");
  pod.set_uid("u");
  pod.set_phase(kube::v1::POD_PHASE_PENDING);
  pod.set_scheduler_name("volcano");
  pod.mutable_grouping()->set_spec_json(
      R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1","memory":"2Gi","nvidia.com/gpu":"1"},)"
      R"("limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]})");
  return pod;
}

// Returns a pod of the ReplicaSet web.
inline kube::v1::Pod OwnedPod() {
  kube::v1::Pod pod = BarePod();
  pod.set_owner_uid("rs-uid");
  kube::v1::OwnerReference& owner = *pod.mutable_grouping()->add_owner_references();
  owner.set_api_version("apps/v1");
  owner.set_kind("ReplicaSet");
  owner.set_name("web");
  owner.set_uid("rs-uid");
  owner.set_controller(true);
  return pod;
}

}  // namespace basalt::pgsvc::testing
