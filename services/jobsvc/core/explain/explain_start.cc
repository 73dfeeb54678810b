#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "services/jobsvc/core/explain/explain_parts.h"
#include "services/jobsvc/core/explain/explain_words.h"

namespace basalt::jobsvc {

using job::v1::Cause;

namespace {

int64_t QueueSince(const ExplainInput& in) {
  // A missing queue that was never observed has been missing for as long as the job has waited.
  if (in.queue_since_ms == 0) return in.queue.queue == nullptr ? PhaseSince(in) : 0;
  return std::max(in.queue_since_ms, in.effects.job.meta().creation_ms());  // The job did not exist before.
}

void ExplainQueue(Explaining& draft) {
  const ExplainInput& in = draft.in;
  const std::string& name = in.effects.spec.queue();
  std::string problem = QueueProblem(name, in.queue);
  if (problem.empty()) return;
  std::string advice =
      "Create the queue; or submit the job again to another one, as the queue of a job cannot be changed.";
  if (in.queue.queue != nullptr) {
    const bool is_open = in.queue.queue->state() == "Open";
    problem += ": nothing new is admitted to it";
    advice = is_open ? "Submit the job again to one of those below it, as the queue of a job cannot be changed."
                     : fmt::format("Open it (basaltctl queue open {}), or submit the job to another one.", name);
  }
  SetSince(QueueSince(in),
           draft.Add(Cause::KIND_QUEUE, fmt::format("queue {}", name), std::move(problem), std::move(advice)));
}

// Null if there is no group, or if the scheduler states nothing for which the job waits.
const kube::v1::PodGroupCondition* WordsOfScheduler(const ExplainInput& in) {
  return in.group == nullptr ? nullptr : SchedulersWords(*in.group);
}

void ExplainUnschedulable(const kube::v1::PodGroupCondition& words, Explaining& draft) {
  draft.scheduler = true;
  std::string message = words.message().empty() ? words.reason() : words.message();
  if (message.empty()) message = words.type();
  const int32_t pods = draft.in.group->spec().min_member();
  Cause& cause =
      draft.Add(Cause::KIND_UNSCHEDULABLE, fmt::format("PodGroup {}", draft.in.effects.group.name), std::move(message),
                fmt::format("{} must fit at once (minMember of the PodGroup): add or free resources, or ask for less.",
                            pods == 1 ? "1 pod" : fmt::format("{} pods", pods)));
  SetSince(words.last_transition_ms(), cause);
}

// The age of a group that has to go first does not show how long it has been in the way.
int64_t GroupSince(const ExplainInput& in) {
  if (in.group == nullptr) return MadeSince(in, in.retry.group);
  if (!in.effects.group.stale) return in.group->meta().creation_ms();
  return std::max(PhaseSince(in), in.group->meta().deletion_ms());
}

}  // namespace

const kube::v1::PodGroupCondition* SchedulersWords(const kube::v1::PodGroup& group) {
  const kube::v1::PodGroupCondition* newest = nullptr;
  for (const auto& condition : group.conditions()) {
    if (condition.status() != "True") continue;
    if (newest == nullptr || condition.last_transition_ms() > newest->last_transition_ms()) newest = &condition;
  }
  return newest == nullptr || newest->type() == "Scheduled" ? nullptr : newest;
}

void ExplainGroup(const Wait& wait, Explaining& draft) {
  const ExplainInput& in = draft.in;
  ExplainQueue(draft);
  const ProblemFrame frame{.kind = wait.kind, .subject = wait.subject};
  if (ExplainProblem("PodGroupError", frame, draft)) return;
  const kube::v1::PodGroupCondition* const words = WordsOfScheduler(in);
  if (words != nullptr) ExplainUnschedulable(*words, draft);
  const bool is_silent = words == nullptr && in.effects.group.present && !in.effects.group.stale;
  Cause& cause = draft.Add(
      wait.kind, wait.subject, wait.message,
      is_silent ? "Where nothing happens for long, see whether the scheduler runs and what the queue may use." : "");
  SetUntil(in.retry.group.until_ms, cause);
  SetSince(GroupSince(in), cause);
}

void ExplainWaitingPods(Explaining& draft) {
  const std::vector<WaitingPods>& waiting = draft.in.pods.waiting;
  const bool unscheduled =
      std::any_of(waiting.begin(), waiting.end(), [](const WaitingPods& pods) { return !pods.on_node; });
  if (unscheduled) {
    const kube::v1::PodGroupCondition* const words = WordsOfScheduler(draft.in);
    if (words != nullptr && !draft.scheduler) ExplainUnschedulable(*words, draft);
  }
  for (size_t i = 0; i < waiting.size() && i < kMostAlike; ++i) {
    const WaitingPods& pods = waiting[i];
    const std::string_view where = pods.on_node ? "on a node, not started" : "not on a node yet";
    std::string message = fmt::format("{} {} {}", pods.count, pods.count == 1 ? "pod is" : "pods are", where);
    if (!pods.reason.empty()) message += fmt::format(": {}", pods.reason);
    Cause& cause =
        draft.Add(Cause::KIND_PODS, fmt::format("pod {}", pods.example), std::move(message),
                  fmt::format("See 'kubectl describe pod {} -n {}'.", pods.example, draft.job().meta().namespace_()));
    SetSince(pods.since_ms, cause);
  }
}

void ExplainRestartingPods(Explaining& draft) {
  const std::vector<RestartingPods>& restarting = draft.in.pods.restarting;
  for (size_t i = 0; i < restarting.size() && i < kMostAlike; ++i) {
    const RestartingPods& pods = restarting[i];
    draft.Add(Cause::KIND_PODS, fmt::format("pod {}", pods.example), RestartsOf(pods),
              fmt::format("See 'kubectl logs {} --previous -n {}'.", pods.example, draft.job().meta().namespace_()));
  }
}

}  // namespace basalt::jobsvc
