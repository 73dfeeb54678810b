#include "services/jobsvc/core/explain/explain_summary.h"

#include <fmt/format.h>

#include <string_view>

#include "common/kube/text.h"
#include "common/kube/timestamp.h"
#include "services/jobsvc/core/explain/explain_words.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using job::v1::Cause;

bool Rests(kube::v1::JobPhase phase) { return IsFinished(phase) || phase == kube::v1::JOB_PHASE_ABORTED; }

bool HasUsedUpRetries(const ExplainInput& input) {
  const kube::v1::JobStatus& status = input.effects.job.status();
  return status.phase() == kube::v1::JOB_PHASE_FAILED && status.retry_count() >= input.effects.spec.max_retry();
}

std::string OriginOf(const ExplainInput& input) {
  if (input.entered_by != nullptr) return OriginOf(*input.entered_by, input.restarted_by);
  return HasUsedUpRetries(input) ? "maxRetry is used up" : "";
}

std::string SummaryOf(const ExplainInput& input, const job::v1::JobExplanation& explanation,
                      const std::set<int>& beside) {
  const kube::v1::Job& job = input.effects.job;
  const kube::v1::JobPhase phase = job.status().phase();
  const std::string_view name =
      phase == kube::v1::JOB_PHASE_UNSPECIFIED ? std::string_view("new") : kube::JobPhaseName(phase);
  std::string text = fmt::format("Job {}/{} is {}", job.meta().namespace_(), job.meta().name(), name);
  // The last change of a job that rests is the change of its phase: nothing is counted any more.
  int64_t since_ms = Rests(phase) ? job.status().last_transition_ms() : 0;
  if (!Rests(phase) && input.entered_by != nullptr) since_ms = kube::ToMs(input.entered_by->time());
  if (since_ms != 0) text += fmt::format(", for {}", Ago(since_ms, input.now_ms));
  if (const std::string origin = OriginOf(input); !origin.empty()) text += fmt::format(": {}", origin);
  text += '.';
  const Cause* first = nullptr;
  for (int i = 0; i < explanation.causes_size() && first == nullptr; ++i) {
    const Cause& cause = explanation.causes(i);
    const bool holds_up = !beside.contains(i) && cause.kind() != Cause::KIND_ENDED &&
                          cause.kind() != Cause::KIND_RETRIES && cause.kind() != Cause::KIND_DEADLINE;
    if (holds_up) first = &cause;
  }
  if (first != nullptr) {
    text += ' ' + Sentence(first->message());
    const bool is_past = Rests(phase) && first->kind() == Cause::KIND_PODS;
    if (first->has_since_time() && !is_past)
      text += fmt::format(" This has been so for {}.", Ago(kube::ToMs(first->since_time()), input.now_ms));
    if (const int64_t until_ms = kube::ToMs(first->until_time()); until_ms > input.now_ms) {
      text += fmt::format(" It is tried again at {}.", kube::FormatTime(until_ms));
    }
  } else if (MakesPods(phase) && input.effects.pods.shape().total() == 0) {
    text += ' ' + EndOf(input.effects.spec, input.effects.pods.shape().tasks());
  } else if (MakesPods(phase)) {
    const kube::v1::PodCounts& counts = input.effects.pods.counts();
    text += fmt::format(" Nothing holds it up: of {} pods {} run, {} have succeeded and {} have failed.",
                        input.effects.pods.shape().total(), counts.running(), counts.succeeded(), counts.failed());
    if (const int64_t restarts = RestartsInPlace(input.effects.pods); restarts > 0) {
      text += fmt::format(" Containers have restarted in place {}.",
                          restarts == 1 ? "once" : fmt::format("{} times", restarts));
    }
    if (phase == kube::v1::JOB_PHASE_RUNNING)
      text += ' ' + EndOf(input.effects.spec, input.effects.pods.shape().tasks());
  }
  for (const Cause& cause : explanation.causes()) {
    if (cause.kind() != Cause::KIND_DEADLINE || !cause.has_until_time()) continue;
    const std::string about = cause.subject().empty() ? "" : fmt::format(", about {}", cause.subject());
    text += fmt::format(" At {}: {}{}.", kube::FormatTime(kube::ToMs(cause.until_time())), cause.message(), about);
    break;
  }
  if (first != nullptr && !first->advice().empty()) text += ' ' + first->advice();
  for (const Cause& cause : explanation.causes()) {
    if (cause.kind() == Cause::KIND_ENDED && !cause.advice().empty()) text += ' ' + cause.advice();
  }
  return text;
}

}  // namespace basalt::jobsvc
