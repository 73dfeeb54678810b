#include "services/jobsvc/testing/fake_kube.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"

namespace basalt::jobsvc::testing {

std::string FakeKube::NewUid(std::string_view kind) {
  return fmt::format("{:08x}-{}-4000-8000-{:012x}", 0xabcd, kind.substr(0, 4), ++uids_);
}

void FakeKube::Show(const std::string& watch, kube::v1::Object object, bool gone) {
  if (watcher_) watcher_(watch, object, gone);
}

void FakeKube::ShowJob(const std::string& key) {
  kube::v1::Object object;
  *object.mutable_job() = jobs_.at(key);
  Show(std::string(kube::kWatchJobs), std::move(object));
}

void FakeKube::ShowJobGone(const std::string& key) {
  kube::v1::Object object;
  *object.mutable_job() = jobs_.at(key);
  object.mutable_job()->mutable_meta()->set_resource_version(object.job().meta().resource_version() + 100);
  Show(std::string(kube::kWatchJobs), std::move(object), true);
}

void FakeKube::ShowPod(const std::string& key) {
  if (pods_.at(key).job_name().empty()) return;  // No watch has it.
  kube::v1::Object object;
  *object.mutable_pod() = pods_.at(key);
  Show(std::string(kube::kWatchJobPods), std::move(object));
}

void FakeKube::Replay(const Watcher& watcher) const {
  kube::v1::Object object;
  for (const auto& [key, job] : jobs_) {
    *object.mutable_job() = job;
    watcher(std::string(kube::kWatchJobs), object, false);
  }
  for (const auto& [key, pod] : pods_) {
    if (pod.job_name().empty()) continue;
    *object.mutable_pod() = pod;
    watcher(std::string(kube::kWatchJobPods), object, false);
  }
  for (const auto& [key, group] : groups_) {
    *object.mutable_pod_group() = group;
    watcher(std::string(kube::kWatchPodGroups), object, false);
  }
  for (const auto& [key, command] : commands_) {
    *object.mutable_command() = command;
    watcher(std::string(kube::kWatchCommands), object, false);
  }
}

int FakeKube::Count(std::string_view verb, std::string_view plural, std::string_view name) const {
  int count = 0;
  for (const Logged& entry : log_) {
    if (entry.code == 0 && !entry.dry_run && entry.verb == verb && (plural.empty() || entry.plural == plural) &&
        (name.empty() || entry.name == name)) {
      ++count;
    }
  }
  return count;
}

int FakeKube::WritesButEvents() const {
  int count = 0;
  for (const Logged& entry : log_) count += entry.plural == "events" ? 0 : 1;
  return count;
}

absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> FakeKube::EnsurePodGroup(
    const podgroup::v1::EnsurePodGroupRequest& request) {
  ++group_asks_;
  if (!refuse_group.ok()) return refuse_group;
  const std::string key = request.namespace_() + "/" + request.name();
  const std::string version = std::to_string(request.version());
  podgroup::v1::EnsurePodGroupResponse response;
  auto found = groups_.find(key);
  if (found != groups_.end()) {
    kube::v1::PodGroup& group = found->second;
    bool older = group.meta().uid() == request.kill_uid();
    for (const auto& annotation : group.meta().annotations()) {
      if (annotation.key() == kube::kBasaltVersionKey && std::stoi(annotation.value()) < request.version())
        older = true;
    }
    if (older) return absl::FailedPreconditionError("the group of an older version is still going");
    if (kube::PodGroupDiffers(group.spec(), request.spec())) {
      log_.push_back({"patch", "podgroups", request.name(), 0});
      *group.mutable_spec() = request.spec();
      group.mutable_meta()->set_resource_version(++version_);
    }
  } else {
    log_.push_back({"create", "podgroups", request.name(), 0});
    kube::v1::PodGroup group;
    group.mutable_meta()->set_namespace_(request.namespace_());
    group.mutable_meta()->set_name(request.name());
    group.mutable_meta()->set_uid(NewUid("group"));
    group.mutable_meta()->set_resource_version(++version_);
    group.mutable_meta()->set_creation_ms(absl::ToUnixMillis(Now()) / 1000 * 1000);
    auto* owner = group.mutable_meta()->add_owner_references();
    owner->set_uid(request.job_uid());
    owner->set_kind("Job");
    *group.mutable_meta()->mutable_labels() = request.labels();
    *group.mutable_meta()->mutable_annotations() = request.annotations();
    auto* annotation = group.mutable_meta()->add_annotations();
    annotation->set_key(std::string(kube::kBasaltVersionKey));
    annotation->set_value(version);
    *group.mutable_spec() = request.spec();
    group.set_phase(new_group_phase);
    groups_[key] = group;
  }
  *response.mutable_pod_group() = groups_[key];
  kube::v1::Object object;
  *object.mutable_pod_group() = groups_[key];
  Show(std::string(kube::kWatchPodGroups), object);
  return response;
}

void FakeKube::PutJob(kube::v1::Job job) {
  const std::string key = job.meta().namespace_() + "/" + job.meta().name();
  const auto known = jobs_.find(key);
  if (known == jobs_.end()) {
    job.mutable_meta()->set_uid(NewUid("jobs"));
    job.mutable_meta()->set_generation(1);
    job.mutable_meta()->set_creation_ms(absl::ToUnixMillis(Now()) / 1000 * 1000);
    statuses_.erase(key);
  } else {
    *job.mutable_meta() = known->second.meta();
    *job.mutable_status() = known->second.status();
    job.mutable_meta()->set_generation(known->second.meta().generation() + 1);
  }
  job.mutable_meta()->set_resource_version(++version_);
  jobs_[key] = std::move(job);
  ShowJob(key);
}

void FakeKube::EditJob(const std::string& key, const std::function<void(kube::v1::Job&)>& edit) {
  kube::v1::Job job = jobs_.at(key);
  edit(job);
  PutJob(std::move(job));
}

void FakeKube::DeleteJob(const std::string& key) {
  kube::v1::Object object;
  *object.mutable_job() = jobs_.at(key);
  const std::string uid = object.job().meta().uid();
  jobs_.erase(key);
  Show(std::string(kube::kWatchJobs), object, true);
  std::vector<std::string> owned;
  for (const auto& [name, pod] : pods_) {
    if (pod.owner_uid() == uid) owned.push_back(name);
  }
  for (const std::string& name : owned) RemovePod(name);
  for (auto it = groups_.begin(); it != groups_.end();) {
    if (it->second.meta().owner_references(0).uid() != uid) {
      ++it;
      continue;
    }
    kube::v1::Object group;
    *group.mutable_pod_group() = it->second;
    it = groups_.erase(it);
    Show(std::string(kube::kWatchPodGroups), group, true);
  }
}

void FakeKube::PutCommand(const std::string& ns, const std::string& name, const std::string& action,
                          const std::string& job, const std::function<void(kube::v1::Command&)>& edit) {
  kube::v1::Command command;
  command.mutable_meta()->set_namespace_(ns);
  command.mutable_meta()->set_name(name);
  command.mutable_meta()->set_uid(NewUid("comm"));
  command.mutable_meta()->set_resource_version(++version_);
  command.set_action(action);
  command.mutable_target()->set_name(job);
  command.mutable_target()->set_uid(jobs_.at(ns + "/" + job).meta().uid());
  if (edit) edit(command);
  commands_[ns + "/" + name] = command;
  kube::v1::Object object;
  *object.mutable_command() = command;
  Show(std::string(kube::kWatchCommands), object);
}

void FakeKube::PutForeignPod(const std::string& ns, const std::string& name, const std::string& job_name) {
  kube::v1::Pod pod;
  pod.set_namespace_(ns);
  pod.set_name(name);
  pod.set_uid(NewUid("fore"));
  pod.set_resource_version(++version_);
  pod.set_phase(kube::v1::POD_PHASE_RUNNING);
  pod.set_job_name(job_name);
  pods_[ns + "/" + name] = pod;
  ShowPod(ns + "/" + name);
}

void FakeKube::SetGroupPhase(const std::string& key, const std::string& phase) {
  EditGroup(key, [&phase](kube::v1::PodGroup& group) { group.set_phase(phase); });
}

void FakeKube::EditGroup(const std::string& key, const std::function<void(kube::v1::PodGroup&)>& edit) {
  kube::v1::PodGroup& group = groups_.at(key);
  edit(group);
  group.mutable_meta()->set_resource_version(++version_);
  kube::v1::Object object;
  *object.mutable_pod_group() = group;
  Show(std::string(kube::kWatchPodGroups), object);
}

void FakeKube::EditLabel(const std::string& pod, std::string_view label, std::string_view value) {
  json::object& labels = pod_bodies_.at(pod)["metadata"].as_object()["labels"].as_object();
  if (value.empty()) {
    labels.erase(label);
  } else {
    labels[label] = value;
  }
}

void FakeKube::EditPod(const std::string& key, const std::function<void(kube::v1::Pod&)>& edit) {
  kube::v1::Pod& pod = pods_.at(key);
  edit(pod);
  pod.set_resource_version(++version_);
  ShowPod(key);
}

void FakeKube::SetPodPhase(const std::string& key, kube::v1::PodPhase phase, int exit_code) {
  EditPod(key, [&](kube::v1::Pod& pod) {
    pod.set_phase(phase);
    pod.set_exit_code(exit_code);
    pod.set_all_ready(phase == kube::v1::POD_PHASE_RUNNING);
    if (phase == kube::v1::POD_PHASE_SUCCEEDED || phase == kube::v1::POD_PHASE_FAILED) {
      pod.set_finished_ms(absl::ToUnixMillis(Now()) / 1000 * 1000);
    }
  });
}

void FakeKube::SetAllPods(kube::v1::PodPhase phase) {
  for (const auto& [key, pod] : std::map(pods_)) {
    if (pod.deletion_ms() == 0 && pod.phase() != phase) SetPodPhase(key, phase);
  }
}

void FakeKube::RemovePod(const std::string& key) {
  kube::v1::Object object;
  *object.mutable_pod() = pods_.at(key);
  object.mutable_pod()->set_resource_version(++version_);
  pods_.erase(key);
  pod_bodies_.erase(key);
  if (!object.pod().job_name().empty()) Show(std::string(kube::kWatchJobPods), object, true);
}

void FakeKube::FinishDeletions() {
  for (const auto& [key, pod] : std::map(pods_)) {
    if (pod.deletion_ms() != 0) RemovePod(key);
  }
}

}  // namespace basalt::jobsvc::testing
