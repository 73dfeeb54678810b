#include "services/jobsvc/core/spec/rendered_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/resources/pod_group.h"
#include "services/jobsvc/core/pods/task_facts.h"
#include "services/jobsvc/core/render/pod_group.h"

namespace basalt::jobsvc {

absl::StatusOr<RenderedJob> RenderedJob::Create(kube::v1::Job job) {
  job.mutable_meta()->set_uid(std::string(kRenderedUid));
  RenderedJob rendered;
  rendered.compiled_ = CompileSpec(job, [](std::string_view) { return 0; });
  if (rendered.compiled_.invalid()) return Invalid(rendered.compiled_.refusal.message);
  rendered.job_ = std::move(job);
  return rendered;
}

std::string RenderedJob::GroupName() const { return fmt::format("{}-{}", job_.meta().name(), job_.meta().uid()); }

kube::v1::PodGroupSpec RenderedJob::FirstGroup() const {
  TaskFacts facts;
  facts.Reset(compiled_.shape);
  for (size_t i = 0; i < compiled_.shape.size(); ++i) {
    facts.Follow(static_cast<int32_t>(i), {}, compiled_.shape[i].replicas);
  }
  return WithoutWaiting(compiled_.group, compiled_.spec, facts.Waiting());
}

bool RenderedJob::NeedsSshKeys() const {
  return std::any_of(compiled_.objects.begin(), compiled_.objects.end(),
                     [](const WantedObject& object) { return object.needs_ssh_keys; });
}

absl::StatusOr<std::vector<std::string>> RenderedJob::Objects(const SshKeyPair& keys) const {
  podgroup::v1::EnsurePodGroupRequest group;
  group.set_namespace_(job_.meta().namespace_());
  group.set_name(GroupName());
  group.set_job_name(job_.meta().name());
  group.set_job_uid(job_.meta().uid());
  *group.mutable_spec() = FirstGroup();
  *group.mutable_labels() = job_.meta().labels();
  *group.mutable_annotations() = job_.meta().annotations();
  std::vector<std::string> objects = {kube::PodGroupBody(group)};
  for (const WantedObject& object : compiled_.objects) {
    if (object.data_bytes > kMostDataBytes) {
      return Invalid(fmt::format("plugin {}: {} {} would have {} bytes, and Kubernetes takes at most {}", object.plugin,
                                 object.kind, object.name, object.data_bytes, kMostDataBytes));
    }
    objects.push_back(object.needs_ssh_keys ? WithSshKeys(object, keys) : object.json);
  }
  for (const WantedClaim& claim : compiled_.claims) {
    if (!claim.json.empty()) objects.push_back(claim.json);
  }
  return objects;
}

absl::Status RenderedJob::ForEachPod(const Which& which, const std::function<void(std::string)>& visit) const {
  PodMaker pods(job_, compiled_.spec);
  const std::string group = GroupName();
  bool is_found = false;
  for (int task = 0; task < compiled_.spec.tasks_size(); ++task) {
    const kube::v1::TaskSpec& spec = compiled_.spec.tasks(task);
    if (!which.task.empty() && spec.name() != which.task) continue;
    is_found = true;
    if (which.index >= spec.replicas()) {
      return Invalid(fmt::format("task {} has {} replicas: no pod of the task has the index {}", spec.name(),
                                 spec.replicas(), which.index));
    }
    const int32_t begin = which.index < 0 ? 0 : which.index;
    const int32_t end = which.index < 0 ? spec.replicas() : which.index + 1;
    for (int32_t index = begin; index < end; ++index) {
      BASALT_ASSIGN_OR_RETURN(std::string pod, pods.Make(task, index, {.pod_group_name = group}));
      visit(std::move(pod));
    }
  }
  if (is_found || which.task.empty()) return absl::OkStatus();
  return Invalid(fmt::format("the job has no task {}", which.task));
}

}  // namespace basalt::jobsvc
