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
  std::string message = FailureOf(pods, in.effects.pods.shape().tasks()[static_cast<size_t>(pods.task)]);
  if (!is_first || !HasUsedUpRetries(in)) return message;
  return message + fmt::format("; {} used {} of {} retries",
                               in.restarted_by == nullptr ? "restarts" : in.restarted_by->action(),
                               in.effects.job.status().retry_count(), in.effects.spec.max_retry());
}

void ExplainFailedPods(Explaining& draft) {
  const ExplainInput& in = draft.in;
  for (size_t i = 0; i < in.pods.failed.size(); ++i) {
    if (i == kMostAlike) {
      draft.Add(Cause::KIND_PODS, "", fmt::format("and pods of {} more tasks failed", in.pods.failed.size() - i));
      return;
    }
    const FailedPods& pods = in.pods.failed[i];
    // A pod none of whose containers ended with an exit code may have no log.
    std::string advice = fmt::format("Look at 'kubectl {} {} -n {}'.", pods.exit_code != 0 ? "logs" : "describe pod",
                                     pods.first, draft.job().meta().namespace_());
    if (IsFinished(draft.phase())) advice += fmt::format(" {}", Again(in));
    SetSince(pods.finished_ms, draft.Add(Cause::KIND_PODS, fmt::format("pod {}", pods.first),
                                         MessageOf(pods, /*is_first=*/i == 0, in), std::move(advice)));
  }
}

std::string AdviceAtTheEnd(const Explaining& draft) {
  const std::string& name = draft.job().meta().name();
  const std::string& ns = draft.job().meta().namespace_();
  if (draft.phase() == kube::v1::JOB_PHASE_ABORTED) {
    return fmt::format("'basaltctl job resume {} -n {}' lets it run again.", name, ns);
  }
  if (draft.phase() == kube::v1::JOB_PHASE_FAILED && draft.in.pods.failed.empty()) {
    return fmt::format("See 'basaltctl job history {} -n {}'. {}", name, ns, Again(draft.in));
  }
  return {};
}

}  // namespace

void ExplainEnd(Explaining& draft) {
  const ExplainInput& in = draft.in;
  const int64_t ended_ms = draft.job().status().last_transition_ms();
  std::string message = fmt::format("the job is {}", kube::JobPhaseName(draft.phase()));
  if (const std::string origin = OriginOf(in); !origin.empty()) message += fmt::format(": {}", origin);
  SetSince(ended_ms, draft.Add(Cause::KIND_ENDED, "", std::move(message), AdviceAtTheEnd(draft)));
  if (draft.phase() != kube::v1::JOB_PHASE_COMPLETED) ExplainFailedPods(draft);
  // Only this kind of end leaves pods that never ran. After another one, the missing pods may have been killed.
  if (in.entered_by != nullptr && in.entered_by->rule().starts_with(kRuleNoOtherStarts)) {
    SetSince(ended_ms, draft.Add(Cause::KIND_DEPENDENCY, "", WhyNeverStarted(in.effects.spec, in.effects.pods)));
  }
  if (!IsFinished(draft.phase()) || !in.effects.spec.has_ttl_seconds_after_finished()) return;
  if (ended_ms == 0) return;  // The time of the end is unknown.
  SetUntil(ended_ms + int64_t{in.effects.spec.ttl_seconds_after_finished()} * 1000,
           draft.Add(Cause::KIND_DEADLINE, "", "the job will be deleted, by ttlSecondsAfterFinished"));
}

}  // namespace basalt::jobsvc
