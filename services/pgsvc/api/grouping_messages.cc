#include "services/pgsvc/api/grouping_messages.h"

#include <string>

#include "common/base/status.h"

namespace basalt::pgsvc {

using podgroup::v1::TriedGroup;
using podgroup::v1::TriedPod;

namespace {

TriedPod::Verdict VerdictOf(PodGrouping::Verdict verdict) {
  switch (verdict) {
    case PodGrouping::Verdict::kGrouped:
      return TriedPod::VERDICT_GROUPED;
    case PodGrouping::Verdict::kOptedOut:
      return TriedPod::VERDICT_OPTED_OUT;
    case PodGrouping::Verdict::kAssigned:
      return TriedPod::VERDICT_ASSIGNED;
  }
  return TriedPod::VERDICT_UNSPECIFIED;
}

}  // namespace

void Fill(const absl::StatusOr<PodGrouping>& found, TriedPod& pod) {
  if (!found.ok()) {
    pod.set_verdict(TriedPod::VERDICT_FAILED);
    pod.set_error(std::string(ToStd(found.status().message())));
    return;
  }
  pod.set_verdict(VerdictOf(found->verdict));
  pod.set_decided_by(found->decided_by);
  pod.set_rule(found->rule);
  pod.set_group(found->grouping.name);
  pod.set_sub_group(found->grouping.pod_sub_group);
}

void AddReasons(const Grouping& plan, TriedGroup& group) {
  for (const auto& [field, source] : plan.sources) {
    TriedGroup::Source& one = *group.add_sources();
    one.set_field(field);
    one.set_source(source);
  }
  for (const std::string& warning : plan.warnings) group.add_warnings(warning);
}

}  // namespace basalt::pgsvc
