#include <fmt/format.h>

#include <utility>
#include <vector>

#include "services/jobsvc/core/explain/explain_parts.h"

namespace basalt::jobsvc {

using job::v1::Cause;

namespace {

// Reason of a problem that holds nothing up.
constexpr std::string_view kForwardingError = "ForwardingError";

// The reasons of the API server do not distinguish an exceeded quota: it is Forbidden like much else.
bool IsQuota(std::string_view message) { return message.find("exceeded quota") != std::string_view::npos; }

std::string_view AdviceFor(const Problem& problem) {
  switch (problem.kind) {
    case ProblemKind::kNameHeld:
      return kFreeTheName;
    case ProblemKind::kNameOrphaned:
      return kFreeTheOrphan;
    case ProblemKind::kTooLarge:
      return "Lower the replicas, or make several jobs of it; nothing is tried before the spec is changed.";
    case ProblemKind::kTaken:
      return "Delete that object if nobody needs it, and the job goes on by itself; or submit the job under another "
             "name.";
    case ProblemKind::kLabelLost:
      return "Either will do; the job goes on by itself.";
    case ProblemKind::kRefused:
      break;
  }
  return IsQuota(problem.words.message)
             ? "Raise the ResourceQuota of the namespace, or free what it counts; it is tried again by itself."
             : "Mend what the API server names; it is tried again by itself, and at once after an edit of the job.";
}

// Returns when the write is tried again whose refusal has this reason.
int64_t UntilOf(std::string_view reason, const RetryTimes& retry) {
  if (reason == "PluginError" || reason == "PVCError") return retry.objects.until_ms;
  if (reason == "PodGroupError") return retry.group.until_ms;
  if (reason == "FailedCreate") return retry.pods.until_ms;
  // The refusal is one of pods or of objects of plugins.
  if (reason == "FailedDelete") return retry.kills.until_ms != 0 ? retry.kills.until_ms : retry.objects.until_ms;
  if (reason == "CommandError") return retry.commands.until_ms;
  if (reason == kForwardingError) return retry.forwarding.until_ms;
  return reason == "TTLError" ? retry.ttl.until_ms : 0;
}

Cause& ExplainOne(const Problem& problem, const ProblemFrame& frame, Explaining& draft) {
  const std::string& reason = problem.words.reason;
  draft.problems.emplace(reason);
  if (reason == kForwardingError) draft.beside.insert(draft.result.causes_size());
  const bool knows_more = problem.kind != ProblemKind::kRefused;
  const bool is_held = problem.kind == ProblemKind::kNameHeld || problem.kind == ProblemKind::kNameOrphaned;
  Cause& cause = draft.Add(is_held ? Cause::KIND_NAME_HELD : frame.kind,
                           knows_more || frame.subject.empty() ? problem.subject : frame.subject, problem.words.message,
                           knows_more || frame.advice.empty() ? std::string(AdviceFor(problem)) : frame.advice);
  SetSince(draft.in.problems.SinceMs(reason, problem.subject), cause);
  SetUntil(UntilOf(reason, draft.in.retry), cause);
  return cause;
}

void ExplainClaim(const std::string& claim, int64_t until_ms, Explaining& draft) {
  const ExplainInput& in = draft.in;
  ProblemFrame frame{.kind = Cause::KIND_CLAIM,
                     .subject = fmt::format("claim {}", claim),
                     .advice = fmt::format("Create PersistentVolumeClaim {} in namespace {}, or correct what is "
                                           "refused; the job goes on by itself.",
                                           claim, draft.job().meta().namespace_())};
  if (const Problem* const refused = in.problems.Find("PVCError", frame.subject); refused != nullptr) {
    SetUntil(until_ms, ExplainOne(*refused, frame, draft));
    return;
  }
  Cause& cause = draft.Add(frame.kind, std::move(frame.subject), fmt::format("claim {} is not there yet", claim),
                           std::move(frame.advice));
  SetSince(PhaseSince(in), cause);
  SetUntil(until_ms, cause);
}

}  // namespace

bool ExplainProblem(std::string_view reason, const ProblemFrame& frame, Explaining& draft) {
  const Problem* const problem = draft.in.problems.Find(reason);
  if (problem == nullptr) return false;
  ExplainOne(*problem, frame, draft);
  return true;
}

void ExplainFailedCreate(Explaining& draft) {
  const Problems& problems = draft.in.problems;
  const Problem& newest = *problems.Find("FailedCreate");
  ExplainOne(newest, {}, draft);
  // A refusal is explained beside a name that is held.
  const Problem* const refused = problems.Find("FailedCreate", "");
  if (refused != nullptr && !newest.subject.empty()) ExplainOne(*refused, {}, draft);
}

void ExplainObjects(const Wait& wait, Explaining& draft) {
  const ExplainInput& in = draft.in;
  for (const auto& [claim, until_ms] : in.missing_claims) ExplainClaim(claim, until_ms, draft);
  const std::vector<const Problem*> refused = in.problems.FindAll("PluginError");
  for (const Problem* const problem : refused) ExplainOne(*problem, {.kind = wait.kind}, draft);
  if (!refused.empty()) return;
  if (!in.missing_claims.empty()) return;
  Cause& cause = draft.Add(wait.kind, wait.subject, wait.message);
  SetSince(MadeSince(in, in.retry.objects), cause);
  SetUntil(in.retry.objects.until_ms, cause);
}

void ExplainOtherProblems(Explaining& draft) {
  draft.in.problems.ForEach([&draft](const Problem& problem) {
    if (draft.problems.contains(problem.words.reason) || problem.words.reason == kQueueError) return;
    ExplainProblem(problem.words.reason, {}, draft);
  });
}

void ExplainStatusWrite(Explaining& draft) {
  const ExplainInput& in = draft.in;
  if (!in.status_problem.message.empty()) {
    Cause& cause = draft.Add(Cause::KIND_STATUS_WRITE, "",
                             fmt::format("the API server refuses the job's status: {}", in.status_problem.message),
                             "Nothing is done before the status is written. It is tried again by itself.");
    SetSince(in.retry.status.since_ms, cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
  if (in.doubt != nullptr) {
    Cause& cause =
        draft.Add(Cause::KIND_STATUS_WRITE, "",
                  in.doubt->empty() ? "the job is being read: the status that the watch shows may not be its newest"
                                    : fmt::format("the API server refuses to show the job: {}", in.doubt->message),
                  "Nothing is done before the job has been read. It is tried again by itself.");
    SetSince(in.retry.status.since_ms, cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
  int explained = 0;
  for (const storage::v1::PendingAction& action : in.pending) {
    if (explained++ == kMostAlike) {
      draft.Add(Cause::KIND_STATUS_WRITE, "", fmt::format("and {} more actions", in.pending.size() - kMostAlike));
      return;
    }
    Cause& cause =
        draft.Add(Cause::KIND_STATUS_WRITE, action.subject(),
                  fmt::format("{} because of {} is to be written to its status", action.action(), action.event()));
    SetSince(action.due_ms() != 0 ? action.due_ms() : action.time_ms(), cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
}

}  // namespace basalt::jobsvc
