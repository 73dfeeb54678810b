#include "services/pgsvc/control/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/text.h"

namespace basalt::pgsvc {

void SetPhase(int64_t least, podgroup::v1::GroupMembers& members) {
  using Members = podgroup::v1::GroupMembers;
  if (members.pending() + members.running() == 0) {
    members.set_phase(members.failed() == 0 ? Members::PHASE_SUCCEEDED : Members::PHASE_FAILED);
    return;
  }
  const bool runs = members.running() > 0 && members.running() + members.succeeded() >= least;
  members.set_phase(runs ? Members::PHASE_RUNNING : Members::PHASE_PENDING);
}

std::vector<std::string> KeptFields(const json::value& observed, const json::object& wanted,
                                    const std::vector<std::string>& changing) {
  std::vector<std::string> texts;
  for (const auto& [field, words] : {std::pair("queue", "queue"), std::pair("priorityClassName", "priority class")}) {
    if (std::find(changing.begin(), changing.end(), field) != changing.end()) continue;
    const std::string_view is = FindString(observed, field);
    const json::value* const member = wanted.if_contains(field);
    const std::string_view rules =
        member != nullptr && member->is_string() ? std::string_view(member->get_string()) : std::string_view();
    if (is.empty() || is == rules) continue;
    if (!rules.empty()) {
      texts.push_back(
          fmt::format("the {} of the group is {} and stays so, though the rules say {} by now: it was fixed "
                      "when the group was made",
                      words, is, rules));
    } else if (is != kube::kDefaultQueue) {  // Admission sets that one.
      texts.push_back(fmt::format(
          "the {} of the group is {} and stays so: neither the pods nor their owners name one any more", words, is));
    }
  }
  return texts;
}

std::vector<std::string> ObstaclesOf(const kube::v1::ObjectMeta* observed, std::string_view refusal,
                                     const Retry& retry) {
  std::vector<std::string> texts;
  if (observed != nullptr && observed->deletion_ms() != 0) {
    texts.push_back(fmt::format("the group is being deleted since {}: another one is made once it is gone",
                                kube::FormatTime(observed->deletion_ms())));
  }
  if (refusal.empty()) return texts;
  std::string text = fmt::format("the API server refuses to have the group written: {}", refusal);
  if (const std::optional<absl::Time> since = retry.since()) {
    text += fmt::format("; since {}", kube::FormatTime(absl::ToUnixMillis(*since)));
  }
  // The admission plugin OwnerReferencesPermissionEnforcement refuses with this text.
  if (refusal.find("set finalizers on") != std::string_view::npos) {
    text += "; deploy/rbac/owner-references gives the right to set finalizers of owners";
  }
  texts.push_back(std::move(text));
  return texts;
}

std::string RefusedLink(std::string_view refusal) {
  return fmt::format("the API server refuses to have the pod put into its group: {}", refusal);
}

std::string DescribeFight(std::string_view name, const GroupEntry& group, absl::Time now) {
  const bool is_deleted = group.creates.IsFought(now);
  if (!is_deleted && !group.updates.IsFought(now)) return {};
  return fmt::format("somebody else keeps {} pod group {}, which is put right less and less often",
                     is_deleted ? "deleting" : "changing", name);
}

std::string DescribeFightOverLink(std::string_view group) {
  return fmt::format("somebody else keeps changing which pod group the pod names: it belongs to {}", group);
}

std::vector<std::string> WhyNotPlaced(const kube::v1::PodGroup& group) {
  std::vector<std::string> reasons;
  for (const kube::v1::PodGroupCondition& condition : group.conditions()) {
    if (condition.type() != "Unschedulable" || condition.status() != "True") continue;
    reasons.push_back(fmt::format("{}: {}", condition.reason(), condition.message()));
  }
  return reasons;
}

}  // namespace basalt::pgsvc
