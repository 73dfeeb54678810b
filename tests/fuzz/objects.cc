#include "tests/fuzz/objects.h"

#include <fmt/format.h>

#include <iterator>

#include "common/kube/names.h"
#include "gateway/route/routes.h"

namespace basalt::fuzz {

using kube::v1::Object;

namespace {

constexpr std::string_view kWords[] = {
    "",
    // Names.
    "default",
    "j",
    "j-t0-0",
    "j-t0-1",
    "t0",
    "t1",
    "q",
    "root",
    "volcano",
    "kai-scheduler",
    "pg",
    "podgroup-owner-uid",
    "j-uid",
    "default/j",
    "default/pg",
    "default/",
    "kai/q",
    "w",
    // Phases, actions and events.
    "Pending",
    "Inqueue",
    "Running",
    "Unknown",
    "Completed",
    "Open",
    "Closed",
    "Closing",
    "Failed",
    "Evicted",
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "CompleteJob",
    "TerminateJob",
    "ResumeJob",
    "OpenQueue",
    "CloseQueue",
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "TaskCompleted",
    "TaskFailed",
    "*",
    "true",
    "false",
    // Kinds, fields and reasons.
    "Job",
    "Queue",
    "ReplicaSet",
    "Deployment",
    "batch.volcano.sh/v1alpha1",
    "apps/v1",
    "batch/v1",
    "scheduling.volcano.sh/v1beta1",
    "volcano.sh/closed-by-parent",
    "scheduling.k8s.io/group-name",
    "volcano.sh/queue-name",
    "kai.scheduler/queue",
    "AlreadyExists",
    "Conflict",
    "NotFound",
    "Invalid",
    "Forbidden",
    "svc",
    "ssh",
    "env",
    "1",
    "100m",
    "1Gi",
    "cpu",
    "memory",
    "pods",
    // Texts.
    R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}})",
    R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j"},"spec":{"minAvailable":1,)"
    R"("tasks":[{"name":"t0","replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})",
    R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},"spec":{"weight":1}})",
    R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"w","namespace":"default","uid":"w-uid"}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"p-uid","ownerReferences":)"
    R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"w","uid":"w-uid","controller":true}]}})",
    R"({"seq":1,"nonce":"n","kill":{"action":"RestartJob","version":1,"targets":["u1"]},"done":{"t0":"0-1"}})",
    "job=j,app!=x",
    "t0,t1",
};

// Makes `pod` a pod of the job j in half of the cases, and else a pod without an owner or of a ReplicaSet.
void MakeUsualPod(Input& input, kube::v1::Pod& pod) {
  pod.set_phase(kube::v1::POD_PHASE_PENDING);
  pod.set_scheduler_name(input.OneIn(2) ? "volcano" : "kai-scheduler");
  if (input.OneIn(2)) {
    pod.set_job_name("j");
    pod.set_owner_kind("Job");
    pod.set_owner_api_version(std::string(kube::kJobApiVersion));
    pod.set_owner_uid("j-uid");
    pod.set_job_uid_label("j-uid");
    pod.set_task("t0");
    pod.set_job_version(0);
    return;
  }
  kube::v1::PodGrouping& grouping = *pod.mutable_grouping();
  grouping.set_spec_json(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
  if (input.OneIn(2)) return;
  pod.set_owner_kind("ReplicaSet");
  pod.set_owner_api_version("apps/v1");
  pod.set_owner_uid("w-uid");
  kube::v1::OwnerReference& owner = *grouping.add_owner_references();
  owner.set_kind("ReplicaSet");
  owner.set_api_version("apps/v1");
  owner.set_name("w");
  owner.set_uid("w-uid");
  owner.set_controller(true);
}

void MakeUsualJob(kube::v1::JobSpec& spec) {
  spec.set_scheduler_name("volcano");
  spec.set_queue("q");
  spec.set_max_retry(3);
  spec.set_min_available(1);
  for (const char* const name : {"t0", "t1"}) {
    kube::v1::TaskSpec& task = *spec.add_tasks();
    task.set_name(name);
    task.set_replicas(2);
    task.set_template_json(R"({"spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
}

}  // namespace

Input::Words ServiceWords() { return kWords; }

void SetIdentity(Object& object, const std::string& ns, const std::string& name, const std::string& uid) {
  const auto set = [&](kube::v1::ObjectMeta& meta) {
    meta.set_namespace_(ns);
    meta.set_name(name);
    meta.set_uid(uid);
    if (meta.creation_ms() == 0) meta.set_creation_ms(1000);
  };
  switch (object.kind_case()) {
    case Object::kJob:
      return set(*object.mutable_job()->mutable_meta());
    case Object::kPodGroup:
      return set(*object.mutable_pod_group()->mutable_meta());
    case Object::kQueue:
      return set(*object.mutable_queue()->mutable_meta());
    case Object::kCommand:
      return set(*object.mutable_command()->mutable_meta());
    case Object::kPriorityClass:
      return set(*object.mutable_priority_class()->mutable_meta());
    case Object::kWorkload:
      return set(*object.mutable_workload()->mutable_meta());
    case Object::kGeneric:
      return set(*object.mutable_generic()->mutable_meta());
    case Object::kKaiPodGroup:
      return set(*object.mutable_kai_pod_group()->mutable_meta());
    case Object::kKaiQueue:
      return set(*object.mutable_kai_queue()->mutable_meta());
    case Object::kPod:
      object.mutable_pod()->set_namespace_(ns);
      object.mutable_pod()->set_name(name);
      object.mutable_pod()->set_uid(uid);
      return;
    case Object::KIND_NOT_SET:
      return;
  }
}

void BoundPods(Object& object) {
  constexpr int32_t kMost = 8;
  if (!object.has_job()) return;
  for (kube::v1::TaskSpec& task : *object.mutable_job()->mutable_spec()->mutable_tasks()) {
    if (task.replicas() > kMost && task.replicas() < 200'000) task.set_replicas(kMost);
  }
}

std::string ObjectMaker::NewUid() { return fmt::format("u{}", ++uids_); }

Object ObjectMaker::New() {
  constexpr std::string_view kNames[] = {"j", "j-t0-0", "j-t0-1", "q", "root", "pg", "w"};
  Object object;
  switch (input_.Below(10)) {
    case 0:
    case 1:
      MakeUsualJob(*object.mutable_job()->mutable_spec());
      break;
    case 2:
    case 3:
      MakeUsualPod(input_, *object.mutable_pod());
      break;
    case 4:
      object.mutable_pod_group()->mutable_spec()->set_queue("q");
      break;
    case 5:
      object.mutable_queue()->set_state("Open");
      break;
    case 6:
      object.mutable_command()->mutable_target()->set_name("j");
      object.mutable_command()->mutable_target()->set_uid("j-uid");
      object.mutable_command()->mutable_target()->set_kind("Job");
      object.mutable_command()->mutable_target()->set_api_version(std::string(kube::kJobApiVersion));
      break;
    case 7:
      object.mutable_generic()->set_json(
          R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"w","namespace":"default","uid":"w-uid"}})");
      break;
    default:
      input_.Change(object);
      if (object.kind_case() == Object::KIND_NOT_SET) object.mutable_priority_class();
  }
  const std::string name(object.has_job() ? "j" : kNames[input_.Below(std::size(kNames))]);
  const bool is_known = name == "j" || name == "w";
  SetIdentity(object, gateway::IsBroadcast(object) ? "" : "default", name, is_known ? name + "-uid" : NewUid());
  return object;
}

}  // namespace basalt::fuzz
