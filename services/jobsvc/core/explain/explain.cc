#include "services/jobsvc/core/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/timestamp.h"
#include "services/jobsvc/core/explain/explain_parts.h"
#include "services/jobsvc/core/explain/explain_summary.h"
#include "services/jobsvc/core/spec/spec_change.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using job::v1::Cause;
using job::v1::JobExplanation;

Cause& Explaining::Add(Cause::Kind kind, std::string subject, std::string message, std::string advice) {
  // The message is quoted within sentences.
  if (message.ends_with('.') && !message.ends_with("..")) message.pop_back();
  Cause& cause = *result.add_causes();
  cause.set_kind(kind);
  cause.set_subject(std::move(subject));
  cause.set_message(std::move(message));
  cause.set_advice(std::move(advice));
  return cause;
}

void SetSince(int64_t ms, Cause& cause) { cause.set_allocated_since_time(kube::ToTimestamp(ms).release()); }

void SetUntil(int64_t ms, Cause& cause) { cause.set_allocated_until_time(kube::ToTimestamp(ms).release()); }

int64_t PhaseSince(const ExplainInput& in) {
  if (in.entered_by != nullptr) return kube::ToMs(in.entered_by->time());
  const kube::v1::Job& job = in.effects.job;
  return job.status().version() == 0 && job.status().retry_count() == 0 ? job.meta().creation_ms() : 0;
}

int64_t MadeSince(const ExplainInput& in, const RetryTime& retry) {
  if (retry.since_ms != 0) return retry.since_ms;
  return in.effects.job.status().phase() == kube::v1::JOB_PHASE_PENDING ? PhaseSince(in) : 0;
}

namespace {

bool IsFailedCreate(const Explaining& draft) {
  return draft.in.problems.has("FailedCreate") && MakesPods(draft.phase());
}

void ExplainRefusal(Explaining& draft) {
  if (draft.in.refusal.empty() || IsFinished(draft.phase())) return;
  Cause& cause =
      draft.Add(Cause::KIND_SPEC, "", draft.in.refusal.message,
                "Correct it with kubectl edit; where the field cannot be changed, delete the job and submit it again.");
  SetSince(draft.in.refused_since_ms, cause);
}

void ExplainKill(const Wait& wait, Explaining& draft) {
  const ExplainInput& in = draft.in;
  ExplainProblem("FailedDelete", {}, draft);
  const int32_t terminating = in.effects.pods.counts().terminating();
  std::string message = wait.message;
  if (terminating > 0) message += fmt::format(" ({})", terminating);
  std::string advice;
  if (!in.pods.going.empty()) {
    advice = fmt::format("If they stay for long, see 'kubectl describe pod {} -n {}': its finalizers and its node.",
                         in.pods.going, draft.job().meta().namespace_());
  }
  SetSince(in.kill_since_ms, draft.Add(wait.kind, wait.subject, std::move(message), std::move(advice)));
}

void ExplainPodsBeingMade(const Wait& wait, Explaining& draft) {
  const ExplainInput& in = draft.in;
  Cause& cause = draft.Add(wait.kind, wait.subject, wait.message);
  SetUntil(in.retry.pods.until_ms, cause);
  // Pods are not made before there is a group for them.
  const int64_t since_ms = MadeSince(in, in.retry.pods);
  const int64_t group_ms = in.group == nullptr ? 0 : in.group->meta().creation_ms();
  if (since_ms != 0) SetSince(std::max(since_ms, group_ms), cause);
}

void ExplainHeldName(const Wait& wait, Explaining& draft) {
  const Problems& problems = draft.in.problems;
  const Problem* const newest = problems.Find("FailedCreate");
  if (newest != nullptr && newest->subject == wait.subject) return;  // The newest failure explains it.
  constexpr std::string_view kPod = "pod ";
  const PodEntry* const pod = draft.in.effects.pods.Find(std::string_view(wait.subject).substr(kPod.size()));
  const bool is_orphan = pod != nullptr && pod->has(kPodOrphan);
  SetSince(problems.SinceMs("FailedCreate", wait.subject),
           draft.Add(wait.kind, wait.subject, wait.message, std::string(is_orphan ? kFreeTheOrphan : kFreeTheName)));
}

void ExplainWait(const Wait& wait, Explaining& draft) {
  const ExplainInput& in = draft.in;
  switch (wait.kind) {
    case Cause::KIND_SPEC:
      if (in.refusal.empty()) draft.Add(wait.kind, wait.subject, wait.message);
      return;
    case Cause::KIND_STATUS_WRITE:
      if (in.pending.empty()) draft.Add(wait.kind, wait.subject, wait.message);
      return;
    case Cause::KIND_PLUGIN:
      return ExplainObjects(wait, draft);
    case Cause::KIND_POD_GROUP:
      return ExplainGroup(wait, draft);
    case Cause::KIND_PODS:
      // Why pods have not started, or cannot be made, is a cause of its own.
      if (in.pods.waiting.empty() && !IsFailedCreate(draft)) ExplainPodsBeingMade(wait, draft);
      return;
    case Cause::KIND_KILL:
      return ExplainKill(wait, draft);
    case Cause::KIND_NAME_HELD:
      return ExplainHeldName(wait, draft);
    case Cause::KIND_DEPENDENCY:
      SetSince(PhaseSince(in), draft.Add(wait.kind, wait.subject, wait.message));
      return;
    default:
      draft.Add(wait.kind, wait.subject, wait.message);
  }
}

void ExplainCommands(Explaining& draft) {
  const ExplainInput& in = draft.in;
  ExplainProblem("CommandError", {.kind = Cause::KIND_COMMAND}, draft);
  for (size_t i = 0; i < in.commands.size(); ++i) {
    if (i == kMostAlike) {
      draft.Add(Cause::KIND_COMMAND, "", fmt::format("and {} more commands", in.commands.size() - i));
      return;
    }
    const WaitingCommand& command = in.commands[i];
    SetSince(command.since_ms, draft.Add(Cause::KIND_COMMAND, fmt::format("command {}", command.name),
                                         fmt::format("command {} waits for its turn", command.name)));
  }
}

void ExplainDeadlines(Explaining& draft) {
  const ExplainInput& in = draft.in;
  size_t explained = 0;
  size_t later = 0;
  for (const storage::v1::PendingAction* deadline : in.deadlines.Earliest(in.deadlines.size())) {
    if (!StillHolds(*deadline, in.effects.pods)) continue;
    if (explained == kMostAlike) {
      ++later;
      continue;
    }
    ++explained;
    Cause& cause = draft.Add(Cause::KIND_DEADLINE, deadline->subject(),
                             fmt::format("{} because of {}{}{} ({})", deadline->action(), deadline->event(),
                                         deadline->reason().empty() ? "" : ", ", deadline->reason(), deadline->rule()));
    SetSince(deadline->time_ms(), cause);
    SetUntil(deadline->due_ms(), cause);
  }
  if (later > 0) {
    draft.Add(Cause::KIND_DEADLINE, "", fmt::format("and {} later {}", later, later == 1 ? "one" : "ones"));
  }
}

void ExplainRetries(Explaining& draft) {
  const int32_t used = draft.job().status().retry_count();
  const int32_t most = draft.in.effects.spec.max_retry();
  if (used == 0 || !MakesPods(draft.phase())) return;
  draft.Add(Cause::KIND_RETRIES, "",
            used + 1 >= most ? fmt::format("{} of {} retries are used: the next restart ends it as Failed", used, most)
                             : fmt::format("{} of {} retries are used", used, most));
}

void ExplainWaits(Explaining& draft) {
  const std::vector<Wait> waits = WaitsOf(draft.in.effects);
  for (const Wait& wait : waits) {
    if (wait.kind != Cause::KIND_DEPENDENCY) ExplainWait(wait, draft);
  }
  if (MakesPods(draft.phase())) {
    ExplainWaitingPods(draft);
    ExplainRestartingPods(draft);
  }
  // The causes that hold up the awaited pods come before the dependencies.
  for (const Wait& wait : waits) {
    if (wait.kind == Cause::KIND_DEPENDENCY) ExplainWait(wait, draft);
  }
}

void ExplainPodsOfNoTask(Explaining& draft) {
  const std::vector<std::string> pods = draft.in.effects.pods.OfNoTask();
  if (pods.empty() || !MakesPods(draft.phase())) return;
  draft.beside.insert(draft.result.causes_size());
  const bool one = pods.size() == 1;
  draft.Add(Cause::KIND_PODS, fmt::format("pod {}", pods.front()),
            fmt::format("{} {} of no task that the spec has: {} not counted, and left alone until the job ends or is "
                        "restarted",
                        pods.size(), one ? "pod is" : "pods are", one ? "it is" : "they are"),
            fmt::format("Give the task its name back, or delete what is not needed: 'kubectl delete pod {} -n {}'.",
                        pods.front(), draft.job().meta().namespace_()));
}

void ExplainWarnings(Explaining& draft) {
  const ExplainInput& in = draft.in;
  if (!in.departure.empty()) {
    draft.beside.insert(draft.result.causes_size());
    SetSince(in.departed_ms, draft.Add(Cause::KIND_SPEC, "", in.departure,
                                       fmt::format("It was edited past the checks of the API server: {}.", kUndoEdit)));
  }
  if (in.warning.empty()) return;
  draft.beside.insert(draft.result.causes_size());
  draft.Add(Cause::KIND_SPEC, "", in.warning.message);
}

void ExplainCauses(Explaining& draft) {
  if (draft.job().meta().deletion_ms() != 0) {
    SetSince(draft.job().meta().deletion_ms(),
             draft.Add(Cause::KIND_DELETION, "", "the job is being deleted",
                       "What stays for long has a finalizer, or pods on a node that does not answer."));
    return;
  }
  if (Rests(draft.phase())) ExplainEnd(draft);
  ExplainRefusal(draft);
  ExplainStatusWrite(draft);
  if (IsFailedCreate(draft)) ExplainFailedCreate(draft);
  ExplainWaits(draft);
  ExplainCommands(draft);
  ExplainOtherProblems(draft);
  ExplainDeadlines(draft);
  ExplainRetries(draft);
  ExplainPodsOfNoTask(draft);
  ExplainWarnings(draft);
}

}  // namespace

JobExplanation Explain(const ExplainInput& input) {
  Explaining draft{.in = input};
  JobExplanation& result = draft.result;
  const kube::v1::Job& job = draft.job();
  result.set_namespace_(job.meta().namespace_());
  result.set_name(job.meta().name());
  result.set_uid(job.meta().uid());
  result.set_phase(draft.phase());
  result.set_allocated_explain_time(kube::ToTimestamp(input.now_ms).release());
  if (input.entered_by != nullptr) *result.mutable_entered_by() = *input.entered_by;
  ExplainCauses(draft);
  result.set_summary(SummaryOf(input, result, draft.beside));
  return std::move(draft.result);
}

}  // namespace basalt::jobsvc
