#include <fmt/format.h>

#include <utility>
#include <vector>

#include "services/jobsvc/core/explain/explain_parts.h"

namespace basalt::jobsvc {

using job::v1::Cause;

namespace {

// Of a job that goes on without.
constexpr std::string_view kForwardingError = "ForwardingError";

// It is not known to the names of errors: an exceeded quota is Forbidden like much else.
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

// When that is tried again whose refusal has this reason.
int64_t UntilOf(std::string_view reason, const RetryTimes& retry) {
  if (reason == "PluginError" || reason == "PVCError") return retry.objects.until_ms;
  if (reason == "PodGroupError") return retry.group.until_ms;
  if (reason == "FailedCreate") return retry.pods.until_ms;
  // Pods, and objects of plugins.
  if (reason == "FailedDelete") return retry.kills.until_ms != 0 ? retry.kills.until_ms : retry.objects.until_ms;
  if (reason == "CommandError") return retry.commands.until_ms;
  if (reason == kForwardingError) return retry.forwarding.until_ms;
  return reason == "TTLError" ? retry.ttl.until_ms : 0;
}

Cause& ExplainOne(const Problem& problem, const ProblemFrame& frame, Explaining& telling) {
  const std::string& reason = problem.words.reason;
  telling.problems.emplace(reason);
  if (reason == kForwardingError) telling.beside.insert(telling.result.causes_size());
  const bool knows_more = problem.kind != ProblemKind::kRefused;
  const bool is_held = problem.kind == ProblemKind::kNameHeld || problem.kind == ProblemKind::kNameOrphaned;
  Cause& cause =
      telling.Add(is_held ? Cause::KIND_NAME_HELD : frame.kind,
                  knows_more || frame.subject.empty() ? problem.subject : frame.subject, problem.words.message,
                  knows_more || frame.advice.empty() ? std::string(AdviceFor(problem)) : frame.advice);
  SetSince(telling.in.problems.SinceMs(reason, problem.subject), cause);
  SetUntil(UntilOf(reason, telling.in.retry), cause);
  return cause;
}

void ExplainClaim(const std::string& claim, int64_t until_ms, Explaining& telling) {
  const ExplainInput& in = telling.in;
  ProblemFrame frame{.kind = Cause::KIND_CLAIM,
                     .subject = fmt::format("claim {}", claim),
                     .advice = fmt::format("Create PersistentVolumeClaim {} in namespace {}, or correct what is "
                                           "refused; the job goes on by itself.",
                                           claim, telling.job().meta().namespace_())};
  if (const Problem* const refused = in.problems.Find("PVCError", frame.subject); refused != nullptr) {
    SetUntil(until_ms, ExplainOne(*refused, frame, telling));
    return;
  }
  Cause& cause = telling.Add(frame.kind, std::move(frame.subject), fmt::format("claim {} is not there yet", claim),
                             std::move(frame.advice));
  SetSince(PhaseSince(in), cause);
  SetUntil(until_ms, cause);
}

}  // namespace

bool ExplainProblem(std::string_view reason, const ProblemFrame& frame, Explaining& telling) {
  const Problem* const problem = telling.in.problems.Find(reason);
  if (problem == nullptr) return false;
  ExplainOne(*problem, frame, telling);
  return true;
}

void ExplainFailedCreate(Explaining& telling) {
  const Problems& problems = telling.in.problems;
  const Problem& newest = *problems.Find("FailedCreate");
  ExplainOne(newest, {}, telling);
  // What is refused is told beside a name that is held.
  const Problem* const refused = problems.Find("FailedCreate", "");
  if (refused != nullptr && !newest.subject.empty()) ExplainOne(*refused, {}, telling);
}

void ExplainObjects(const Wait& wait, Explaining& telling) {
  const ExplainInput& in = telling.in;
  for (const auto& [claim, until_ms] : in.missing_claims) ExplainClaim(claim, until_ms, telling);
  const std::vector<const Problem*> refused = in.problems.FindAll("PluginError");
  for (const Problem* const problem : refused) ExplainOne(*problem, {.kind = wait.kind}, telling);
  if (!refused.empty()) return;
  if (!in.missing_claims.empty()) return;
  Cause& cause = telling.Add(wait.kind, wait.subject, wait.message);
  SetSince(MadeSince(in, in.retry.objects), cause);
  SetUntil(in.retry.objects.until_ms, cause);
}

void ExplainOtherProblems(Explaining& telling) {
  telling.in.problems.ForEach([&telling](const Problem& problem) {
    if (telling.problems.contains(problem.words.reason) || problem.words.reason == kQueueError) return;
    ExplainProblem(problem.words.reason, {}, telling);
  });
}

void ExplainStatusWrite(Explaining& telling) {
  const ExplainInput& in = telling.in;
  if (!in.status_problem.message.empty()) {
    Cause& cause = telling.Add(Cause::KIND_STATUS_WRITE, "",
                               fmt::format("the API server refuses the job's status: {}", in.status_problem.message),
                               "Nothing is done before the status is written. It is tried again by itself.");
    SetSince(in.retry.status.since_ms, cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
  if (in.doubt != nullptr) {
    Cause& cause =
        telling.Add(Cause::KIND_STATUS_WRITE, "",
                    in.doubt->empty() ? "the job is being read: the status that the watch shows may not be its newest"
                                      : fmt::format("the API server refuses to show the job: {}", in.doubt->message),
                    "Nothing is done before the job has been read. It is tried again by itself.");
    SetSince(in.retry.status.since_ms, cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
  int told = 0;
  for (const storage::v1::PendingAction& action : in.pending) {
    if (told++ == kMostAlike) {
      telling.Add(Cause::KIND_STATUS_WRITE, "", fmt::format("and {} more actions", in.pending.size() - kMostAlike));
      return;
    }
    Cause& cause =
        telling.Add(Cause::KIND_STATUS_WRITE, action.subject(),
                    fmt::format("{} because of {} is to be written to its status", action.action(), action.event()));
    SetSince(action.due_ms() != 0 ? action.due_ms() : action.time_ms(), cause);
    SetUntil(in.retry.status.until_ms, cause);
  }
}

}  // namespace basalt::jobsvc
