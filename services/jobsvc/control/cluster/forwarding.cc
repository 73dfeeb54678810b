#include "services/jobsvc/control/cluster/forwarding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

namespace {

// If the job is gone, the watch shows its end.
constexpr EffectPolicy kAnnotation{
    .already_exists = Meaning::kTryAgain, .not_found = Meaning::kTryAgain, .conflict = Meaning::kTryAgain};

bool IsAnnotated(const kube::v1::Job& job) {
  const auto& annotations = job.meta().annotations();
  return std::any_of(annotations.begin(), annotations.end(), [](const kube::v1::KeyValue& it) {
    return it.key() == kube::kJobForwardingKey && it.value() == "true";
  });
}

}  // namespace

void Forwarding::Apply(JobEntry& entry, PartHost& host) {
  if (!host.IsForwarded(entry) || !MakesPods(entry.job->status().phase())) return;
  if (IsAnnotated(*entry.job) || effect_.under_way() || host.Waits(entry, effect_.retry())) return;
  effect_.Begin();
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  kube::SetAnnotation(kube::kJobForwardingKey, entry.record.uid(), request);
  host.Write(entry, std::move(request), [&host](JobEntry& live, const runtime::WriteOutcome& outcome) {
    live.forwarding.Answered(live, outcome, host);
  });
}

void Forwarding::Answered(JobEntry& entry, const runtime::WriteOutcome& outcome, PartHost& host) {
  const Meaning meaning = effect_.End(AnswerOf(outcome), kAnnotation, host.Now(), host.context().random());
  if (meaning == Meaning::kSucceeded) {
    entry.problems.End("ForwardingError");
    return;
  }
  host.WakeAt(entry, effect_.retry().until());
  if (meaning != Meaning::kRefused || !runtime::ShouldReportToUser(outcome.error)) return;
  host.ReportProblem(
      entry, "ForwardingError",
      fmt::format("the annotation {} cannot be written: {}", kube::kJobForwardingKey, outcome.error.message()));
}

}  // namespace basalt::jobsvc
