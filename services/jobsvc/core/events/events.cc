#include "services/jobsvc/core/events/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace basalt::jobsvc {

namespace {

bool Listed(const kube::v1::LifecyclePolicy& policy, std::string_view event) {
  for (const std::string& name : policy.events()) {
    if (name == event || name == "*") return true;
  }
  return false;
}

template <typename Policies>
std::optional<PolicyMatch> FirstMatch(const Policies& policies, const JobEvent& event, std::string_view where) {
  for (int i = 0; i < policies.size(); ++i) {
    const kube::v1::LifecyclePolicy& policy = policies.Get(i);
    const std::optional<int64_t> timeout =
        policy.has_timeout_ms() ? std::optional<int64_t>(policy.timeout_ms()) : std::nullopt;
    const bool by_event = Listed(policy, event.kind) && !(event.kind == kEventPodPending && !timeout);
    const bool by_code = policy.has_exit_code() && event.exit_code != 0 && policy.exit_code() == event.exit_code;
    if (by_event || by_code) return PolicyMatch{policy.action(), fmt::format("{}[{}]", where, i), timeout};
  }
  return std::nullopt;
}

bool IsCompleted(const TaskCounts& task, int32_t replicas) {
  return replicas > 0 && task.succeeded_current > 0 && task.succeeded >= replicas;
}

// Returns whether this very observation brought the summed restarts of the task to the limit (W31).
bool CrossedRetries(const PodChange& change, int32_t replicas, std::optional<int32_t> max_retry) {
  int32_t limit = max_retry.value_or(0);
  if (limit == -1 || replicas == 0) return false;
  if (limit == 0) limit = 3;
  return change.task_before.restarts < limit && change.task_after.restarts >= limit;
}

// A kubelet reports the end of a container within seconds. A later report means that its clock is wrong or that it was
// cut off, and whoever reads its time later would take that time for the truth.
constexpr int64_t kReportMs = 10'000;

// Returns the time of a fact that the clock of a node dates and that cannot have happened before `earliest_ms`. An
// earlier date proves that the clock is wrong, and is ignored: no timeout is over before it began.
int64_t TimeByNode(int64_t fact_ms, int64_t earliest_ms, int64_t now_ms) {
  const int64_t latest_ms = LatestTimeOf(fact_ms, now_ms);
  return latest_ms < earliest_ms ? now_ms : latest_ms;
}

bool FailedBefore(const PodFacts& facts, int64_t mark_ms) {
  return facts.finished_ms != 0 && facts.finished_ms < mark_ms;
}

// Returns whether Kubernetes states that it ended the pod. A pod that had failed before was only removed.
bool IsDisrupted(const PodFacts& facts) {
  return !facts.disruption_reason.empty() && !FailedBefore(facts, facts.disruption_ms);
}

// A pod that fails because it is being evicted counts as evicted (W20, W34).
bool FailedByEviction(const PodEntry& pod, const PodFacts& facts) {
  if (pod.has(kPodTerminating) && !FailedBefore(facts, facts.deletion_ms)) return true;
  return facts.reads_evictions && (IsDisrupted(facts) || facts.reason == kReasonEvicted);
}

int64_t EvictedAt(const PodFacts& facts) {
  return facts.deletion_ms != 0 ? facts.deletion_ms : std::max(facts.finished_ms, facts.disruption_ms);
}

// Every disruption names why a pod is gone.
std::string_view ReasonOf(const PodFacts& facts, bool is_gone) {
  if (IsDisrupted(facts) || (is_gone && !facts.disruption_reason.empty())) return facts.disruption_reason;
  return is_gone && !facts.is_seen ? kReasonUnknown : std::string_view(facts.reason);
}

// `raise` is that of EventsOf().
template <typename Raise>
void RaiseOfEnd(const PodChange& change, const PodFacts& facts, GoneReason gone, int32_t task_replicas, Raise raise) {
  const PodEntry& pod = change.before;
  // A succeeded pod is done, whoever removes it (W19). Our own deletions are no evictions (W4).
  const bool silent = gone == GoneReason::kLeft || change.was_ours_to_delete || pod.has(kPodEvictionSeen) ||
                      pod.phase == kube::v1::POD_PHASE_SUCCEEDED;
  if (!silent) raise(kEventPodEvicted, facts.deletion_ms, 0);
  // A pod that succeeded while it was being deleted counts from now on, and may be the last of its task (W19).
  const bool completes = change.after.succeeded_gone && IsCompleted(change.task_after, task_replicas) &&
                         !IsCompleted(change.task_before, task_replicas);
  if (completes && gone == GoneReason::kDeleted && !change.was_ours_to_delete) {
    raise(kEventTaskCompleted, facts.finished_ms, 0);
  }
}

}  // namespace

int64_t EndOfSecond(int64_t fact_ms) { return fact_ms % 1000 == 0 ? fact_ms + 1000 : fact_ms; }

// The result is at most `now_ms`, since the clocks of nodes may run ahead.
int64_t LatestTimeOf(int64_t fact_ms, int64_t now_ms) {
  return fact_ms == 0 ? now_ms : std::min(EndOfSecond(fact_ms), now_ms);
}

std::vector<JobEvent> EventsOf(const PodChange& change, const PodFacts& facts, GoneReason gone, int32_t status_version,
                               int32_t task_replicas, std::optional<int32_t> task_max_retry, int64_t now_ms) {
  std::vector<JobEvent> events;
  const PodEntry& pod = gone == GoneReason::kNotGone ? change.after : change.before;
  if (!pod.present() || pod.has(kPodForeign) || !change.place.indexed()) return events;
  if (pod.version < status_version) return events;
  const auto raise = [&](std::string_view kind, int64_t fact_ms, int32_t exit_code) {
    JobEvent event;
    event.kind = kind;
    event.task = change.place.task;
    event.index = change.place.index;
    event.pod = change.name;
    event.pod_uid = pod.uid;
    event.exit_code = exit_code;
    event.phase = pod.phase;
    event.reason = ReasonOf(facts, gone != GoneReason::kNotGone && kind == kEventPodEvicted);
    event.stated_ms = LatestTimeOf(fact_ms, now_ms);
    event.time_ms = TimeByNode(fact_ms, facts.creation_ms, now_ms);
    event.version = pod.version;
    events.push_back(std::move(event));
  };
  if (gone != GoneReason::kNotGone) {
    RaiseOfEnd(change, facts, gone, task_replicas, raise);
    return events;
  }
  if (pod.has(kPodOutOfSync) || change.was_ours_to_delete) return events;
  const auto date_by_node = [&](int64_t fact_ms) {
    JobEvent& event = events.back();
    event.time_ms = TimeByNode(fact_ms, std::max(facts.creation_ms, facts.alive_ms), now_ms);
    event.observed = fact_ms == 0 || event.time_ms - event.stated_ms > kReportMs;
  };
  const bool same = change.before.present() && change.before.uid == pod.uid;
  const uint8_t old_phase = same ? change.before.phase : 0;
  const bool changed = old_phase != pod.phase;
  switch (pod.phase) {
    case kube::v1::POD_PHASE_FAILED:
      if (!changed) break;
      if (FailedByEviction(pod, facts)) {
        raise(kEventPodEvicted, EvictedAt(facts), 0);
        if (facts.deletion_ms == 0) date_by_node(EvictedAt(facts));
      } else {
        raise(kEventPodFailed, facts.finished_ms, pod.exit_code);
        date_by_node(facts.finished_ms);
      }
      break;
    case kube::v1::POD_PHASE_SUCCEEDED:
      if (changed && IsCompleted(change.task_after, task_replicas)) {
        raise(kEventTaskCompleted, facts.finished_ms, 0);
        date_by_node(facts.finished_ms);
      }
      break;
    case kube::v1::POD_PHASE_RUNNING:
    case kube::v1::POD_PHASE_PENDING:
      if (CrossedRetries(change, task_replicas, task_max_retry)) {
        raise(kEventTaskFailed, now_ms, 0);
        events.back().last_exit_code = facts.last_exit_code;
      }
      if (changed && pod.phase == kube::v1::POD_PHASE_RUNNING) raise(kEventPodRunning, now_ms, 0);
      if (changed && pod.phase == kube::v1::POD_PHASE_PENDING) {
        raise(kEventPodPending, same ? 0 : facts.creation_ms, 0);
        events.back().observed = same;
      }
      break;
    default:
      break;
  }
  return events;
}

bool Earlier(const JobEvent& a, const JobEvent& b) {
  return std::tie(a.stated_ms, a.time_ms, a.task, a.index, a.pod_uid) <
         std::tie(b.stated_ms, b.time_ms, b.task, b.index, b.pod_uid);
}

PolicyMatch ApplyPolicies(const kube::v1::JobSpec& spec, const JobEvent& event) {
  if (event.kind == kEventOutOfSync || event.kind == kEventCommandIssued || event.kind == kEventPodRunning) return {};
  if (event.task >= 0 && event.task < spec.tasks_size()) {
    auto match =
        FirstMatch(spec.tasks(event.task).policies(), event, fmt::format("spec.tasks[{}].policies", event.task));
    if (match) return *match;
  }
  return FirstMatch(spec.policies(), event, "spec.policies").value_or(PolicyMatch{});
}

}  // namespace basalt::jobsvc
