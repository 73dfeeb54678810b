#include "services/jobsvc/control/part_host.h"

#include <optional>

namespace basalt::jobsvc {

PartHost::PartHost(runtime::Context& context, KeyMaker& keys, JobMetrics& metrics, JobControllerOptions options)
    : context_(context), keys_(keys), metrics_(metrics), options_(std::move(options)), claim_waits_(context) {}

JobEntry* PartHost::Live(std::string_view key, std::string_view uid) const {
  JobEntry* const entry = entries_.Find(key);
  return entry != nullptr && entry->has_uid(uid) ? entry : nullptr;
}

void PartHost::TryAgain(const JobEntry& entry, Retry& retry) {
  retry.Fail(Now(), context_.random());
  WakeAt(entry, retry.until());
}

bool PartHost::Waits(const JobEntry& entry, const Retry& retry) {
  if (!retry.Blocks(Now())) return false;
  WakeAt(entry, retry.until());
  return true;
}

void PartHost::AddProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names) {
  if (!entry.job) return;  // The job has gone since: nobody is left to notify.
  // A status with that reason has reported the problem since its transition at the latest.
  std::optional<absl::Time> known_since;
  const kube::v1::JobStatus& status = entry.job->status();
  if (status.reason() == problem.words.reason && status.last_transition_ms() != 0) {
    known_since = absl::FromUnixMillis(status.last_transition_ms());
  }
  if (entry.problems.Report(problem, names, Now(), options_.event_interval, known_since)) {
    entry.pending_events.push_back({true, std::move(problem.words.reason), std::move(problem.words.message)});
  }
}

void PartHost::ReportProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names) {
  AddProblem(entry, std::move(problem), names);
  Wake(entry);
}

void PartHost::ReportProblem(JobEntry& entry, std::string_view reason, std::string message,
                             std::initializer_list<std::string_view> names) {
  ReportProblem(entry, {.words = {std::string(reason), std::move(message)}}, names);
}

EffectInput PartHost::ViewOf(const JobEntry& entry, const std::set<std::string>& busy) const {
  return {.job = *entry.job,
          .spec = entry.compiled->spec,
          .pods = entry.pods,
          .group = entry.group_sync.View(entry),
          .blocked = entry.compiled->invalid(),
          .action_waits = !entry.record.pending().empty(),
          .objects_ready = entry.plugin_objects.IsReady(entry),
          .busy = busy,
          .collecting = collecting_.contains(entry.key),
          .limit = options_.max_in_flight_per_job};
}

QueueView PartHost::QueueOf(const JobEntry& entry) const { return queues_.Find(entry.compiled->spec.queue()); }

bool PartHost::IsForwarded(const JobEntry& entry) const {
  const kube::v1::Queue* const queue = QueueOf(entry).queue;
  return queue != nullptr && queue->has_extend_clusters();
}

}  // namespace basalt::jobsvc
