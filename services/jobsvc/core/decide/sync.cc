#include "services/jobsvc/core/decide/sync.h"

#include <algorithm>

#include "services/jobsvc/core/pods/status_facts.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

bool HasDeadlines(const DecideInput& in) {
  return IsFinished(in.job.status().phase()) ? in.persisted.deadlines.empty()
                                             : in.deadlines.AreStored(in.persisted.deadlines);
}

bool HasUnreportedAnswers(const DecideInput& in) {
  return in.persisted.kill && !in.unreported_answered.empty() && !IsFinished(in.job.status().phase());
}

CallbackInput MakeCallbackInput(const DecideInput& in, const kube::v1::PodCounts& counts, int32_t status_min_available,
                                int32_t retry_count) {
  CallbackInput input;
  input.total = in.pods.shape().total();
  // The status of a refused job holds the value with which the job ran; the spec's value may be the refused one.
  input.spec_min_available = in.invalid ? status_min_available : in.spec.min_available();
  input.status_min_available = status_min_available;
  if (in.spec.has_min_success()) input.min_success = in.spec.min_success();
  input.max_retry = in.spec.max_retry();
  input.retry_count = retry_count;
  input.counts = counts;
  // A refused job gets no pods until its spec is corrected, and a delayed action may make failed pods anew.
  if (!in.invalid && in.deadlines.empty()) input.unstartable = in.pods.facts().unstartable();
  if (int64_t{counts.succeeded()} + counts.failed() + input.unstartable != input.total) return input;
  const auto& tasks = in.pods.task_counts();
  for (int i = 0; i < in.spec.tasks_size() && static_cast<size_t>(i) < tasks.size(); ++i) {
    const auto& spec = in.spec.tasks(i);
    const TaskCounts& task = tasks[i];
    const int32_t replicas = in.pods.shape().tasks()[i].replicas;
    int32_t minimum = spec.has_min_available() ? spec.min_available() : replicas;
    if (in.invalid) minimum = std::min(minimum, replicas);
    input.task_minimum += minimum;
    const bool is_there = HasPods(task) || (input.unstartable > 0 && in.pods.facts().CanNeverStart(i));
    input.tasks.push_back({spec.has_min_available() && is_there, minimum, task.succeeded});
  }
  return input;
}

}  // namespace

Outcome Conclude(const DecideInput& in, const Transition& transition, const kube::v1::PodCounts& counts,
                 int32_t status_min_available, int32_t retry_count) {
  return RunCallback(transition, in.job.status().phase(),
                     MakeCallbackInput(in, counts, status_min_available, retry_count));
}

bool IsReportedAlready(const DecideInput& in, bool stopped, int32_t min_available) {
  const kube::v1::JobStatus& stored = in.job.status();
  const PodSet& pods = in.pods;
  return SameCounts(pods.counts(), stored.counts()) && pods.MatchesReported() &&
         (IsFinished(stored.phase()) || (in.words.reason == stored.reason() && in.words.message == stored.message())) &&
         min_available == stored.min_available() && (stopped || stored.running_duration().empty()) &&
         HasMarkers(stored, in.markers) && in.objects == in.persisted.objects && HasDeadlines(in) &&
         !HasUnreportedAnswers(in);
}

bool HasUnnamedObjects(const DecideInput& in) {
  return MakesPods(in.job.status().phase()) &&
         std::any_of(in.wanted_objects.begin(), in.wanted_objects.end(),
                     [&in](const WantedObject& object) { return !in.persisted.objects.contains(object.Key()); });
}

const storage::v1::PendingAction* NewDeadline(const DecideInput& in) {
  if (IsFinished(in.job.status().phase()) || HasDeadlines(in)) return nullptr;
  size_t room = kMostStoredDeadlines;
  for (const auto& [pod, deadline] : in.deadlines.stored()) {
    const auto same = [&it = deadline](const storage::v1::PendingAction& stored) { return SameDeadline(it, stored); };
    if (room-- == 0) return nullptr;
    if (std::none_of(in.persisted.deadlines.begin(), in.persisted.deadlines.end(), same)) return &deadline;
  }
  return nullptr;
}

bool WasFinishedByOther(const DecideInput& in) {
  const kube::v1::JobStatus& stored = in.job.status();
  const kube::v1::PodCounts& reported = stored.counts();
  const kube::v1::PodCounts& observed = in.pods.counts();
  if (!IsFinished(stored.phase()) && stored.phase() != kube::v1::JOB_PHASE_ABORTED) return false;
  const bool by_another = in.persisted.overtaken || (in.persisted.sequence == 0 && in.last_sequence == 0);
  return by_another && in.objects.empty() && in.persisted.objects.empty() && HasMarkers(stored, in.markers) &&
         reported.pending() == observed.pending() && reported.running() == observed.running() &&
         reported.unknown() == observed.unknown() && reported.terminating() == observed.terminating();
}

bool IsCarried(const DecideInput& in) {
  if (!in.invalid || in.job.status().phase() != kube::v1::JOB_PHASE_PENDING) return true;
  const kube::v1::PodCounts& counts = in.pods.counts();
  return counts.running() + counts.succeeded() + counts.failed() > 0;
}

}  // namespace basalt::jobsvc
