#include "services/jobsvc/core/render/job_status_json.h"

#include <map>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/kube/text.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobStatus;
using kube::v1::PodCounts;

json::string_view ToJson(std::string_view s) { return {s.data(), s.size()}; }

void PutText(json::object& patch, json::string_view key, std::string_view observed, std::string_view wanted) {
  if (observed == wanted) return;
  if (wanted.empty()) {
    patch[key] = nullptr;
  } else {
    patch[key] = ToJson(wanted);
  }
}

void PutCount(json::object& patch, json::string_view key, int32_t observed, int32_t wanted) {
  if (observed == wanted) return;
  if (wanted == 0) {
    patch[key] = nullptr;
  } else {
    patch[key] = wanted;
  }
}

void PutObject(json::object& patch, json::string_view key, json::object changes) {
  if (!changes.empty()) patch[key] = std::move(changes);
}

std::string TimeText(int64_t ms) { return ms == 0 ? std::string() : kube::FormatTime(ms); }

json::object StateChanges(const JobStatus& observed, const JobStatus& wanted) {
  json::object state;
  PutText(state, "phase", kube::JobPhaseName(observed.phase()), kube::JobPhaseName(wanted.phase()));
  PutText(state, "reason", observed.reason(), wanted.reason());
  PutText(state, "message", observed.message(), wanted.message());
  PutText(state, "lastTransitionTime", TimeText(observed.last_transition_ms()), TimeText(wanted.last_transition_ms()));
  return state;
}

json::object PhaseCountChanges(const PodCounts& observed, const PodCounts& wanted) {
  json::object counts;
  PutCount(counts, "Pending", observed.pending(), wanted.pending());
  PutCount(counts, "Running", observed.running(), wanted.running());
  PutCount(counts, "Succeeded", observed.succeeded(), wanted.succeeded());
  PutCount(counts, "Failed", observed.failed(), wanted.failed());
  PutCount(counts, "Unknown", observed.unknown(), wanted.unknown());
  return counts;
}

bool HasPods(const PodCounts& counts) {
  return counts.pending() != 0 || counts.running() != 0 || counts.succeeded() != 0 || counts.failed() != 0 ||
         counts.unknown() != 0;
}

// A task without counted pods has no entry, as in upstream's status.
json::object TaskChanges(const JobStatus& observed, const JobStatus& wanted) {
  std::map<std::string_view, std::pair<const PodCounts*, const PodCounts*>> tasks;
  const PodCounts none;
  for (const auto& task : observed.task_status_count()) tasks[task.task()] = {&task.counts(), &none};
  for (const auto& task : wanted.task_status_count()) {
    tasks.try_emplace(task.task(), &none, &none).first->second.second = &task.counts();
  }
  json::object changes;
  for (const auto& [task, counts] : tasks) {
    const auto& [before, after] = counts;
    if (!HasPods(*after)) {
      if (before != &none) changes[ToJson(task)] = nullptr;
      continue;
    }
    json::object phases = PhaseCountChanges(*before, *after);
    if (phases.empty()) continue;
    json::object entry;
    entry["phase"] = std::move(phases);
    changes[ToJson(task)] = std::move(entry);
  }
  return changes;
}

json::object ResourceChanges(const JobStatus& observed, const JobStatus& wanted) {
  std::map<std::string_view, std::string_view> before;
  for (const auto& entry : observed.controlled_resources()) before[entry.key()] = entry.value();
  json::object changes;
  for (const auto& entry : wanted.controlled_resources()) {
    const auto at = before.find(entry.key());
    if (at == before.end() || at->second != entry.value()) changes[entry.key()] = entry.value();
    if (at != before.end()) before.erase(at);
  }
  for (const auto& [key, value] : before) changes[ToJson(key)] = nullptr;
  return changes;
}

json::array Conditions(const JobStatus& status) {
  json::array list;
  for (const kube::v1::JobCondition& condition : status.conditions()) {
    json::object entry;
    entry["status"] = ToJson(kube::JobPhaseName(condition.phase()));
    PutText(entry, "lastTransitionTime", "", TimeText(condition.last_transition_ms()));
    list.emplace_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string JobStatusPatch(const JobStatus& observed, const JobStatus& wanted) {
  json::object status;
  PutObject(status, "state", StateChanges(observed, wanted));
  PutCount(status, "minAvailable", observed.min_available(), wanted.min_available());
  PutObject(status, "taskStatusCount", TaskChanges(observed, wanted));
  const PodCounts& before = observed.counts();
  const PodCounts& after = wanted.counts();
  PutCount(status, "pending", before.pending(), after.pending());
  PutCount(status, "running", before.running(), after.running());
  PutCount(status, "succeeded", before.succeeded(), after.succeeded());
  PutCount(status, "failed", before.failed(), after.failed());
  PutCount(status, "terminating", before.terminating(), after.terminating());
  PutCount(status, "unknown", before.unknown(), after.unknown());
  PutCount(status, "version", observed.version(), wanted.version());
  PutCount(status, "retryCount", observed.retry_count(), wanted.retry_count());
  PutText(status, "runningDuration", observed.running_duration(), wanted.running_duration());
  PutObject(status, "controlledResources", ResourceChanges(observed, wanted));
  json::array conditions = Conditions(wanted);
  if (Conditions(observed) != conditions) {
    status["conditions"] = conditions.empty() ? json::value() : json::value(std::move(conditions));
  }
  if (status.empty()) return {};
  json::object patch;
  patch["status"] = std::move(status);
  return ToText(patch);
}

void AppendCondition(JobStatus& status, kube::v1::JobPhase phase, int64_t now_ms) {
  auto* conditions = status.mutable_conditions();
  for (int i = conditions->size() - 1; i >= 0; --i) {
    if (conditions->Get(i).phase() == phase) conditions->DeleteSubrange(i, 1);
  }
  kube::v1::JobCondition* condition = conditions->Add();
  condition->set_phase(phase);
  condition->set_last_transition_ms(now_ms);
}

std::string RunningDuration(int64_t creation_ms, int64_t last_transition_ms) {
  return kube::FormatGoDuration(absl::Milliseconds(last_transition_ms - creation_ms));
}

}  // namespace basalt::jobsvc
