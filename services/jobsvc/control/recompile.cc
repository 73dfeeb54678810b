// How JobController takes in a new spec: the effective spec, the shape of the pods, and everything that begins anew
// with them.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/resources/min_resources.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/render/pod_group.h"

namespace basalt::jobsvc {

namespace {

std::vector<TaskShape> ShapeWithPods(const JobEntry& entry, std::vector<TaskShape> shape) {
  std::vector<std::string> names;
  entry.pods.ForEach([&](const std::string& name, PodIndex, const PodEntry& pod) {
    if (!pod.has(kPodForeign)) names.push_back(name);
  });
  entry.pod_changes.ForEachName([&](const std::string& name, const kube::v1::Pod* pod) {
    if (pod != nullptr && pod->owner_uid() == entry.job->meta().uid()) names.push_back(name);
  });
  for (const auto& [task, indices] : entry.persisted.done) {
    if (!indices.empty()) names.push_back(fmt::format("{}-{}-{}", entry.name, task, *indices.rbegin()));
  }
  return GrowTo(std::move(shape), entry.name, {names.begin(), names.end()});
}

}  // namespace

void JobController::Recompile(JobEntry& entry, kv::WriteBatch& batch) {
  const kube::v1::Job& job = *entry.job;
  const bool initiated = job.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED;
  const auto priority_of = [this, &entry](std::string_view name) {
    return priority_classes_.ValueFor(entry.key, name);
  };
  if (entry.compiled && entry.compiled_uid == job.meta().uid() &&
      entry.compiled_generation == job.meta().generation() && entry.compiled_decode_error == job.decode_error()) {
    if (entry.stale_priorities && !entry.compiled->invalid()) {
      // The values of the classes affect minResources alone, and the effective spec has the templates for that.
      const auto resources = kube::MinResources(entry.compiled->spec, priority_of);
      if (resources.ok()) entry.compiled->group = WantedPodGroup(entry.compiled->spec, *resources);
      entry.group_sync.CompareAnew();
    }
    entry.stale_priorities = false;
    entry.job->clear_spec();
    return;
  }
  entry.stale_priorities = false;
  priority_classes_.DropJob(entry.key);
  CompiledSpec compiled = CompileSpec(job, priority_of, host_.options().defaults);
  entry.compiled_uid = job.meta().uid();
  entry.compiled_generation = job.meta().generation();
  entry.compiled_decode_error = job.decode_error();
  entry.pod_creates.TryNow();
  entry.pod_writes.TryNow();
  entry.command_cleanup.TryNow();
  entry.plugin_objects.TryNow();
  entry.group_sync.TryNow();
  entry.forwarding.TryNow();
  entry.ttl.TryNow();
  entry.problems.Clear();
  entry.claims.StopAwaiting(entry, host_);
  for (const StatusMessage* words : {&compiled.refusal, &compiled.warning}) {
    // A message that is in the status already was reported before, and is not reported twice.
    if (!words->empty() && words->message != job.status().message()) {
      entry.pending_events.push_back({true, words->reason, words->message});
    }
  }
  // A job whose spec becomes invalid keeps the shape that it had: its pods are counted as before. A process that does
  // not know that shape widens the new one to the pods that exist.
  if (compiled.invalid() && initiated) {
    compiled.shape = entry.compiled ? entry.pods.shape().tasks() : ShapeWithPods(entry, std::move(compiled.shape));
  }
  queues_.MoveJob(entry.key, entry.compiled ? entry.compiled->spec.queue() : "", compiled.spec.queue());
  entry.compiled = std::move(compiled);
  entry.group_sync.CompareAnew();
  entry.plugin_objects.Expect(entry);
  history_.RecordSpecEdit(entry, batch);
  // Templates are large and stay in the effective spec alone.
  entry.job->clear_spec();
  entry.pods.SetTasks(entry.compiled->shape);
  entry.pods.SetRules(RulesOf(job.status(), entry.persisted));
  for (size_t task = 0; task < entry.compiled->shape.size(); ++task) {
    const auto done = entry.persisted.done.find(entry.compiled->shape[task].name);
    if (done == entry.persisted.done.end()) continue;
    for (int32_t index : done->second) entry.pods.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
}

}  // namespace basalt::jobsvc
