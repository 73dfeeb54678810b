#include "services/jobsvc/core/explain/explain_pods.h"

#include <algorithm>
#include <tuple>

#include "services/jobsvc/core/explain/explain_words.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

// Sorts by count, the largest first.
template <typename Key, typename Pods>
std::vector<Pods> Sorted(std::map<Key, Pods> by_reason) {
  std::vector<Pods> sorted;
  for (auto& [reason, pods] : by_reason) sorted.push_back(std::move(pods));
  std::sort(sorted.begin(), sorted.end(),
            [](const Pods& a, const Pods& b) { return std::tie(b.count, a.example) < std::tie(a.count, b.example); });
  return sorted;
}

// A pod that ended at an unknown time comes last: nobody can know that it was the first.
bool EndedBefore(int64_t a_ms, int64_t b_ms) { return std::pair(a_ms == 0, a_ms) < std::pair(b_ms == 0, b_ms); }

}  // namespace

PodSurvey::PodSurvey(kube::v1::JobPhase phase, const kube::v1::JobSpec& spec, const PodSet& pods)
    : spec_(spec), pods_(pods), reports_failures_(!MakesPods(phase) && !IsDraining(phase)) {}

bool PodSurvey::IsNeeded() const {
  const kube::v1::PodCounts& counts = pods_.counts();
  return counts.pending() > 0 || counts.terminating() > 0 || (reports_failures_ && counts.failed() > 0) ||
         RestartsInPlace(pods_) > 0;
}

void PodSurvey::Look(std::string_view name, const storage::v1::PodRecord& record) {
  const PodEntry* const pod = pods_.Find(name);
  if (pod == nullptr || pod->uid != record.uid() || pod->has(kPodForeign)) return;
  if (pod->has(kPodTerminating)) {
    if (going_.empty()) going_ = name;
  } else if (pods_.shape().PlaceOf(name).task < 0) {
    return;  // The pod counts for nothing.
  } else if (pod->phase == kube::v1::POD_PHASE_PENDING) {
    WaitingPods& pods = waiting_[{!record.node_name().empty(), record.reason()}];
    if (pods.count++ == 0) {
      pods = {record.reason(), !record.node_name().empty(), 1, std::string(name), record.creation_ms()};
    }
    pods.since_ms = std::min(pods.since_ms, record.creation_ms());
  } else if (pod->phase == kube::v1::POD_PHASE_RUNNING && pod->restarts > 0 && !record.reason().empty()) {
    RestartingPods& pods = restarting_[record.reason()];
    if (pods.count++ == 0) {
      pods = {.reason = record.reason(), .count = 1, .example = std::string(name), .task = record.task_name()};
    }
    pods.restarts += pod->restarts;
  } else if (pod->phase == kube::v1::POD_PHASE_FAILED && reports_failures_) {
    LookAtFailed(name, record);
  }
}

void PodSurvey::LookAtFailed(std::string_view name, const storage::v1::PodRecord& record) {
  const PodIndex place = pods_.shape().PlaceOf(name);
  if (!place.indexed()) return;
  FailedPods& pods = failed_[place.task];
  if (pods.count++ > 0 && !EndedBefore(record.finished_ms(), pods.finished_ms)) return;
  // A pod that Kubernetes ended before did not fail by itself.
  const bool is_disrupted = !record.disruption_reason().empty() &&
                            (record.finished_ms() == 0 || record.finished_ms() >= record.disruption_ms());
  pods = {.task = place.task,
          .count = pods.count,
          .first = std::string(name),
          .finished_ms = record.finished_ms(),
          .exit_code = record.exit_code(),
          .reason = is_disrupted ? record.disruption_reason() : record.reason()};
}

bool PodSurvey::NeverFinishes(std::string_view pod) const {
  const int32_t task = pods_.shape().PlaceOf(pod).task;
  return task >= 0 && task < spec_.tasks_size() && RestartsAlways(spec_.tasks(task));
}

PodFindings PodSurvey::Take() {
  PodFindings found{.waiting = Sorted(std::move(waiting_)), .restarting = Sorted(std::move(restarting_))};
  for (RestartingPods& pods : found.restarting) pods.always = NeverFinishes(pods.example);
  for (auto& [task, pods] : failed_) found.failed.push_back(std::move(pods));
  std::stable_sort(found.failed.begin(), found.failed.end(),
                   [](const FailedPods& a, const FailedPods& b) { return EndedBefore(a.finished_ms, b.finished_ms); });
  found.going = std::move(going_);
  if (found.going.empty() && !pods_.removals().to_delete().empty()) found.going = *pods_.removals().to_delete().begin();
  return found;
}

int64_t RestartsInPlace(const PodSet& pods) {
  int64_t restarts = 0;
  for (const TaskCounts& task : pods.task_counts()) restarts += task.restarts;
  return restarts;
}

}  // namespace basalt::jobsvc
