// Explains the state of a job from its controller's data and its records.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/core/explain/explain.h"
#include "services/jobsvc/core/spec/spec_change.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// The history of the phase that a job is in, as ExplainInput has it.
struct Past {
  std::optional<job::v1::HistoryEntry> entered_by;
  std::optional<job::v1::HistoryEntry> restarted_by;
};

// Returns the newest decision that led into the present phase; if pods were drained first, the decision that called for
// the drain. A commit under way has not led there yet.
absl::StatusOr<Past> PastOf(JobController& controller, const JobEntry& entry) {
  BASALT_ASSIGN_OR_RETURN(const auto records, controller.HistoryOf(entry.slot, entry.record.uid()));
  Past past;
  kube::v1::JobPhase phase = entry.job->status().phase();
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
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
      // The job ended in a restart for which no retry was left: find that restart, too.
      if (!IsFinished(phase) || record->from_phase() != kube::v1::JOB_PHASE_RESTARTING) break;
    }
    phase = record->from_phase();
  }
  return past;
}

absl::StatusOr<PodFindings> FindPods(JobController& controller, const JobEntry& entry) {
  PodSurvey survey(entry.job->status().phase(), entry.compiled->spec, entry.pods);
  if (survey.IsNeeded()) {
    BASALT_RETURN_IF_ERROR(
        ForEachPod(controller.context().store(), entry.slot, entry.key,
                   [&](std::string_view name, const storage::v1::PodRecord& record) { survey.Look(name, record); }));
  }
  return survey.Take();
}

absl::StatusOr<int64_t> KillSince(JobController& controller, const JobEntry& entry) {
  if (entry.record.open_kill() == 0) return 0;
  BASALT_ASSIGN_OR_RETURN(const auto began,
                          controller.HistoryEntryOf(entry.slot, entry.record.uid(), entry.record.open_kill()));
  return began.has_value() ? began->time_ms() : 0;
}

int64_t Until(const Retry& retry, absl::Time now) { return retry.Blocks(now) ? absl::ToUnixMillis(retry.until()) : 0; }

RetryTimes RetriesOf(const JobEntry& entry, absl::Time now) {
  const auto time_of = [now](const Retry& retry) {
    return RetryTime{.until_ms = Until(retry, now), .since_ms = retry.since() ? absl::ToUnixMillis(*retry.since()) : 0};
  };
  // Creates wait for the back-off of all pods, and for that of refused tasks.
  RetryTime pods = time_of(entry.pod_creates.retry());
  const RetryTime probes = time_of(entry.pod_creates.probe_retry());
  pods.until_ms = std::max(pods.until_ms, probes.until_ms);
  if (pods.since_ms == 0) pods.since_ms = probes.since_ms;
  const NewestStatus& newest = entry.newest_status;
  return {
      .status = time_of(newest.is_doubted() && entry.commit.problem().empty() ? newest.retry() : entry.commit.retry()),
      .pods = pods,
      .kills = time_of(entry.pod_writes.kill_retry()),
      .objects = time_of(entry.plugin_objects.retry()),
      .group = time_of(entry.group_sync.retry()),
      .commands = time_of(entry.command_cleanup.retry()),
      .forwarding = time_of(entry.forwarding.retry()),
      .ttl = time_of(entry.ttl.retry())};
}

std::map<std::string, int64_t> MissingClaims(const JobEntry& entry, absl::Time now) {
  std::map<std::string, int64_t> missing;
  for (const WantedClaim& claim : entry.compiled->claims) {
    if (entry.claims.known().contains(claim.name)) continue;
    missing[claim.name] = entry.claims.IsAwaited(claim.name) ? 0 : Until(entry.plugin_objects.retry(), now);
  }
  return missing;
}

// Returns the record of the spec and its edits. Empty if nothing is recorded.
absl::StatusOr<storage::v1::SpecRecord> SpecOf(JobController& controller, const JobEntry& entry) {
  if (entry.record.recorded_generation() == 0) return storage::v1::SpecRecord();
  BASALT_ASSIGN_OR_RETURN(auto spec, controller.RecordedSpecOf(entry));
  return spec ? *std::move(spec) : storage::v1::SpecRecord();
}

// Returns the Commands in their order, without those that are carried out or are being carried out.
std::vector<WaitingCommand> WaitingCommands(const JobEntry& entry) {
  std::map<int64_t, WaitingCommand> by_version;
  for (const auto& [name, command] : entry.commands) {
    const bool is_taken = std::any_of(entry.record.pending().begin(), entry.record.pending().end(),
                                      [&uid = command.meta().uid()](const storage::v1::PendingAction& action) {
                                        return action.command_uid() == uid;
                                      });
    if (command.target().uid() != entry.record.uid() || is_taken) continue;
    if (command.meta().uid() == entry.persisted.last_command_uid) continue;
    by_version[command.meta().resource_version()] = {name, command.meta().creation_ms()};
  }
  std::vector<WaitingCommand> commands;
  for (auto& [version, command] : by_version) commands.push_back(std::move(command));
  return commands;
}

absl::StatusOr<job::v1::JobExplanation> ExplanationOf(JobController& controller, const JobEntry& entry) {
  BASALT_ASSIGN_OR_RETURN(const Past past, PastOf(controller, entry));
  BASALT_ASSIGN_OR_RETURN(PodFindings pods, FindPods(controller, entry));
  BASALT_ASSIGN_OR_RETURN(const int64_t kill_since_ms, KillSince(controller, entry));
  BASALT_ASSIGN_OR_RETURN(const storage::v1::SpecRecord spec, SpecOf(controller, entry));
  const std::set<std::string> none;
  const EffectInput effects = controller.ViewOf(entry, none);
  const auto group = entry.groups.find(effects.group.name);
  const absl::Time now = controller.context().ApiNow();
  return jobsvc::Explain({.effects = effects,
                          .refusal = entry.compiled->refusal,
                          .warning = entry.compiled->warning,
                          .problems = entry.problems,
                          .status_problem = entry.commit.problem(),
                          .doubt = entry.newest_status.is_doubted() ? &entry.newest_status.problem() : nullptr,
                          .pending = entry.record.pending(),
                          .deadlines = entry.deadlines,
                          .group = effects.group.present && group != entry.groups.end() ? &group->second : nullptr,
                          .queue = controller.QueueOf(entry),
                          .queue_since_ms = controller.queues().SinceMs(entry.compiled->spec.queue()),
                          .missing_claims = MissingClaims(entry, now),
                          .commands = WaitingCommands(entry),
                          .pods = std::move(pods),
                          .kill_since_ms = kill_since_ms,
                          .retry = RetriesOf(entry, now),
                          .entered_by = past.entered_by ? &*past.entered_by : nullptr,
                          .restarted_by = past.restarted_by ? &*past.restarted_by : nullptr,
                          .refused_since_ms = entry.record.refused_since_ms(),
                          .departure = Departure(spec),
                          .departed_ms = spec.departed_ms(),
                          .now_ms = absl::ToUnixMillis(now)});
}

}  // namespace

void JobApi::Explain(job::v1::ExplainJobRequest request, rpc::Done<job::v1::JobExplanation> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::JobExplanation>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, shared](JobController& controller) {
    const absl::StatusOr<const JobEntry*> entry = FindReconciledJob(controller, key);
    if (!entry.ok()) return (*shared)(entry.status());
    (*shared)(ExplanationOf(controller, **entry));
  });
}

}  // namespace basalt::jobsvc
