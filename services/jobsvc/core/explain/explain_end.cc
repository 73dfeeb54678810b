#include <fmt/format.h>

#include <utility>

#include "common/kube/text.h"
#include "services/jobsvc/core/explain/explain_parts.h"
#include "services/jobsvc/core/explain/explain_summary.h"
#include "services/jobsvc/core/explain/explain_words.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using job::v1::Cause;

namespace {

std::string_view Again(const ExplainInput& in) {
  return HasUsedUpRetries(in) ? "Correct it and submit it again, with a higher maxRetry where that is to be expected."
                              : "Correct it and submit it again.";
}

std::string MessageOf(const FailedPods& pods, bool is_first, const ExplainInput& in) {
  std::string message = FailureOf(pods, in.effects.pods.tasks()[static_cast<size_t>(pods.task)]);
  if (!is_first || !HasUsedUpRetries(in)) return message;
  return message + fmt::format("; {} used {} of {} retries",
                               in.restarted_by == nullptr ? "restarts" : in.restarted_by->action(),
                               in.effects.job.status().retry_count(), in.effects.spec.max_retry());
}

void ExplainFailedPods(Explaining& telling) {
  const ExplainInput& in = telling.in;
  for (size_t i = 0; i < in.pods.failed.size(); ++i) {
    if (i == kMostAlike) {
      telling.Add(Cause::KIND_PODS, "", fmt::format("and pods of {} more tasks failed", in.pods.failed.size() - i));
      return;
    }
    const FailedPods& pods = in.pods.failed[i];
    // One that no container has ended with a code for may have no log.
    std::string advice = fmt::format("Look at 'kubectl {} {} -n {}'.", pods.exit_code != 0 ? "logs" : "describe pod",
                                     pods.first, telling.job().meta().namespace_());
    if (IsFinished(telling.phase())) advice += fmt::format(" {}", Again(in));
    SetSince(pods.finished_ms, telling.Add(Cause::KIND_PODS, fmt::format("pod {}", pods.first),
                                           MessageOf(pods, /*is_first=*/i == 0, in), std::move(advice)));
  }
}

std::string AdviceAtTheEnd(const Explaining& telling) {
  const std::string& name = telling.job().meta().name();
  const std::string& ns = telling.job().meta().namespace_();
  if (telling.phase() == kube::v1::JOB_PHASE_ABORTED) {
    return fmt::format("'basaltctl job resume {} -n {}' lets it run again.", name, ns);
  }
  if (telling.phase() == kube::v1::JOB_PHASE_FAILED && telling.in.pods.failed.empty()) {
    return fmt::format("See 'basaltctl job history {} -n {}'. {}", name, ns, Again(telling.in));
  }
  return {};
}

}  // namespace

void ExplainEnd(Explaining& telling) {
  const ExplainInput& in = telling.in;
  const int64_t ended_ms = telling.job().status().last_transition_ms();
  std::string message = fmt::format("the job is {}", kube::JobPhaseName(telling.phase()));
  if (const std::string origin = OriginOf(in); !origin.empty()) message += fmt::format(": {}", origin);
  SetSince(ended_ms, telling.Add(Cause::KIND_ENDED, "", std::move(message), AdviceAtTheEnd(telling)));
  if (telling.phase() != kube::v1::JOB_PHASE_COMPLETED) ExplainFailedPods(telling);
  // What was killed at the end of another kind is missing, too, and may have run.
  if (in.entered_by != nullptr && in.entered_by->rule().starts_with(kRuleNoOtherStarts)) {
    SetSince(ended_ms, telling.Add(Cause::KIND_DEPENDENCY, "", WhyNeverStarted(in.effects.spec, in.effects.pods)));
  }
  if (!IsFinished(telling.phase()) || !in.effects.spec.has_ttl_seconds_after_finished()) return;
  if (ended_ms == 0) return;  // Nobody knows since when it is over.
  SetUntil(ended_ms + int64_t{in.effects.spec.ttl_seconds_after_finished()} * 1000,
           telling.Add(Cause::KIND_DEADLINE, "", "the job will be deleted, by ttlSecondsAfterFinished"));
}

}  // namespace basalt::jobsvc
