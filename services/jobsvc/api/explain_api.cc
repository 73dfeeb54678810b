// Why a job is where it is, from what its controller and its records know.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/core/explain/explain.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// What history tells of the phase that a job is in, as ExplainInput has it.
struct Past {
  std::optional<job::v1::HistoryEntry> entered_by;
  std::optional<job::v1::HistoryEntry> restarted_by;
};

// The newest decision that led into the present phase; of one in which pods were drained first, the one that called for
// it. What is under way has not led there yet.
absl::StatusOr<Past> PastOf(JobController& controller, const JobEntry& entry) {
  const auto records = ReadHistory(controller.context().store(), entry.slot, entry.record.uid());
  if (!records.ok()) return records.status();
  Past past;
  kube::v1::JobPhase phase = entry.job->status().phase();
  for (auto record = records->rbegin(); record != records->rend(); ++record) {
    if (!record->committed()) continue;
    if (past.entered_by) {
      const bool restarts = record->to_phase() == kube::v1::JOB_PHASE_RESTARTING && record->action() != "SyncJob";
      if (!restarts) continue;
      past.restarted_by = ToMessage(*record);
      break;
    }
    if (record->from_phase() == record->to_phase()) continue;
    if (record->to_phase() != phase) break;
    const bool ends_a_drain = IsDraining(record->from_phase()) && !MakesPods(phase);
    if (!ends_a_drain) {
      past.entered_by = ToMessage(*record);
      // A restart that there was no more retry for.
      if (!IsFinished(phase) || record->from_phase() != kube::v1::JOB_PHASE_RESTARTING) break;
    }
    phase = record->from_phase();
  }
  return past;
}

int64_t RestartsInPlace(const PodSet& pods) {
  int64_t restarts = 0;
  pods.ForEach([&](const std::string&, PodPlace, const PodEntry& pod) {
    const bool runs = pod.phase == kube::v1::POD_PHASE_RUNNING && !pod.has(kPodForeign) && !pod.has(kPodTerminating);
    if (runs) restarts += pod.restarts;
  });
  return restarts;
}

// Those that have not started, or run and are down again, by why.
struct StuckPods {
  std::vector<WaitingPods> waiting;
  std::vector<RestartingPods> restarting;
};

// The most first.
template <typename Key, typename Pods>
std::vector<Pods> Sorted(std::map<Key, Pods> by_reason) {
  std::vector<Pods> sorted;
  for (auto& [reason, pods] : by_reason) sorted.push_back(std::move(pods));
  std::sort(sorted.begin(), sorted.end(),
            [](const Pods& a, const Pods& b) { return std::tie(b.count, a.example) < std::tie(a.count, b.example); });
  return sorted;
}

absl::StatusOr<StuckPods> PodsThatAreStuck(JobController& controller, const JobEntry& entry, int64_t restarts) {
  if (entry.pods.counts().pending() == 0 && restarts == 0) return StuckPods();
  std::map<std::pair<bool, std::string>, WaitingPods> waiting;
  std::map<std::string, RestartingPods> restarting;
  const absl::Status status = ForEachPod(
      controller.context().store(), entry.slot, entry.key,
      [&](std::string_view name, const storage::v1::PodRecord& record) {
        const PodEntry* const pod = entry.pods.Find(name);
        if (pod == nullptr || pod->uid != record.uid()) return;
        if (pod->has(kPodForeign) || pod->has(kPodTerminating)) return;
        if (pod->phase == kube::v1::POD_PHASE_PENDING) {
          WaitingPods& pods = waiting[{!record.node_name().empty(), record.reason()}];
          if (pods.count++ == 0) {
            pods = {record.reason(), !record.node_name().empty(), 1, std::string(name), record.creation_ms()};
          }
          pods.since_ms = std::min(pods.since_ms, record.creation_ms());
        } else if (pod->phase == kube::v1::POD_PHASE_RUNNING && pod->restarts > 0 && !record.reason().empty()) {
          RestartingPods& pods = restarting[record.reason()];
          if (pods.count++ == 0) {
            pods = {.reason = record.reason(), .count = 1, .example = std::string(name), .task = record.task_name()};
          }
          pods.restarts += pod->restarts;
        }
      });
  if (!status.ok()) return status;
  StuckPods stuck{Sorted(std::move(waiting)), Sorted(std::move(restarting))};
  for (RestartingPods& pods : stuck.restarting) {
    const int32_t task = entry.pods.PlaceOf(pods.example).task;
    const auto& tasks = entry.compiled->spec.tasks();
    pods.always = task >= 0 && task < tasks.size() && RestartsAlways(tasks.Get(task));
  }
  return stuck;
}

// Of those whose time is not known nobody can say that they were the first.
bool EndedBefore(int64_t a_ms, int64_t b_ms) { return std::pair(a_ms == 0, a_ms) < std::pair(b_ms == 0, b_ms); }

// Those that have failed, by task.
absl::StatusOr<std::vector<FailedPods>> PodsThatFailed(JobController& controller, const JobEntry& entry) {
  const kube::v1::JobPhase phase = entry.job->status().phase();
  if (MakesPods(phase) || IsDraining(phase) || entry.pods.counts().failed() == 0) return std::vector<FailedPods>();
  std::map<int32_t, FailedPods> by_task;
  const absl::Status status = ForEachPod(
      controller.context().store(), entry.slot, entry.key,
      [&](std::string_view name, const storage::v1::PodRecord& record) {
        const PodEntry* const pod = entry.pods.Find(name);
        if (pod == nullptr || pod->uid != record.uid() || pod->phase != kube::v1::POD_PHASE_FAILED) return;
        const PodPlace place = entry.pods.PlaceOf(name);
        if (!place.indexed() || pod->has(kPodForeign) || pod->has(kPodTerminating)) return;
        FailedPods& pods = by_task[place.task];
        if (pods.count++ > 0 && !EndedBefore(record.finished_ms(), pods.finished_ms)) return;
        pods = {place.task, pods.count, std::string(name), record.finished_ms(), record.exit_code(), record.reason()};
      });
  if (!status.ok()) return status;
  std::vector<FailedPods> pods;
  for (auto& [task, failed] : by_task) pods.push_back(std::move(failed));
  std::stable_sort(pods.begin(), pods.end(),
                   [](const FailedPods& a, const FailedPods& b) { return EndedBefore(a.finished_ms, b.finished_ms); });
  return pods;
}

// The first that is being deleted.
std::string PodThatGoes(const PodSet& pods) {
  std::string found;
  if (pods.counts().terminating() == 0 && pods.to_delete().empty()) return found;
  pods.ForEach([&](const std::string& name, PodPlace, const PodEntry& pod) {
    if (found.empty() && pod.has(kPodTerminating) && !pod.has(kPodForeign)) found = name;
  });
  return found.empty() && !pods.to_delete().empty() ? *pods.to_delete().begin() : found;
}

absl::StatusOr<int64_t> KillSince(JobController& controller, const JobEntry& entry) {
  if (entry.record.open_kill() == 0) return 0;
  BASALT_ASSIGN_OR_RETURN(const auto began, ReadHistoryEntry(controller.context().store(), entry.slot,
                                                             entry.record.uid(), entry.record.open_kill()));
  return began.has_value() ? began->time_ms() : 0;
}

int64_t Until(const Retry& retry, absl::Time now) { return retry.Blocks(now) ? absl::ToUnixMillis(retry.until) : 0; }

RetryTimes RetriesOf(const JobEntry& entry, absl::Time now) {
  return {.status_ms = Until(entry.commit_retry, now),
          .pods_ms = Until(entry.create_retry.Blocks(now) ? entry.create_retry : entry.probe_retry, now),
          .kills_ms = Until(entry.kill_retry, now),
          .objects_ms = Until(entry.object_retry, now),
          .group_ms = Until(entry.group_retry, now),
          .commands_ms = Until(entry.command_retry, now)};
}

absl::StatusOr<job::v1::JobExplanation> ExplanationOf(JobController& controller, const JobEntry& entry) {
  const auto past = PastOf(controller, entry);
  if (!past.ok()) return past.status();
  const int64_t restarts = RestartsInPlace(entry.pods);
  auto stuck = PodsThatAreStuck(controller, entry, restarts);
  if (!stuck.ok()) return stuck.status();
  auto failed_pods = PodsThatFailed(controller, entry);
  if (!failed_pods.ok()) return failed_pods.status();
  const auto kill_since = KillSince(controller, entry);
  if (!kill_since.ok()) return kill_since.status();
  const std::set<std::string> none;
  const EffectInput effects = controller.ViewOf(entry, none);
  const auto group = entry.groups.find(effects.group.name);
  const absl::Time now = controller.context().ApiNow();
  ExplainInput input{.effects = effects,
                     .refusal = entry.compiled->refusal,
                     .warning = entry.compiled->warning,
                     .troubles = entry.troubles,
                     .status_trouble = entry.status_trouble,
                     .pending = entry.record.pending(),
                     .deadlines = entry.deadlines,
                     .group = effects.group.present && group != entry.groups.end() ? &group->second : nullptr,
                     .queue = controller.QueueOf(entry),
                     .queue_since_ms = controller.QueueSince(entry),
                     .waiting_pods = std::move(stuck->waiting),
                     .restarting_pods = std::move(stuck->restarting),
                     .restarts = restarts,
                     .failed_pods = *std::move(failed_pods),
                     .going_pod = PodThatGoes(entry.pods),
                     .kill_since_ms = *kill_since,
                     .retry = RetriesOf(entry, now),
                     .entered_by = past->entered_by ? &*past->entered_by : nullptr,
                     .restarted_by = past->restarted_by ? &*past->restarted_by : nullptr,
                     .refused_since_ms = entry.record.refused_since_ms(),
                     .now_ms = absl::ToUnixMillis(now)};
  for (const WantedClaim& claim : entry.compiled->claims) {
    if (!entry.claims.contains(claim.name)) input.missing_claims.insert(claim.name);
  }
  std::map<int64_t, WaitingCommand> commands;  // In their order.
  for (const auto& [name, command] : entry.commands) {
    const bool is_taken = std::any_of(entry.record.pending().begin(), entry.record.pending().end(),
                                      [&uid = command.meta().uid()](const storage::v1::PendingAction& action) {
                                        return action.command_uid() == uid;
                                      });
    if (command.target().uid() != entry.record.uid() || is_taken) continue;
    if (command.meta().uid() == entry.own.last_command_uid) continue;
    commands[command.meta().resource_version()] = {name, command.meta().creation_ms()};
  }
  for (auto& [version, command] : commands) input.commands.push_back(std::move(command));
  return jobsvc::Explain(input);
}

}  // namespace

void JobApi::Explain(job::v1::ExplainJobRequest request, rpc::Done<job::v1::JobExplanation> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::JobExplanation>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, shared](JobController& controller) {
    const absl::StatusOr<const JobEntry*> entry = FindJudgedJob(controller, key);
    if (!entry.ok()) return (*shared)(entry.status());
    (*shared)(ExplanationOf(controller, **entry));
  });
}

}  // namespace basalt::jobsvc
