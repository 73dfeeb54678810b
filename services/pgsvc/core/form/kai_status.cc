#include "services/pgsvc/core/form/kai_status.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/json.h"
#include "common/kube/quantity.h"

namespace basalt::pgsvc {
namespace {

using Amounts = std::map<std::string, std::string>;  // Quantities, by resource.

Amounts AmountsIn(const json::value& details, std::string_view field) {
  Amounts amounts;
  const json::value* const list = Find(details, field);
  if (list == nullptr || !list->is_object()) return amounts;
  for (const auto& [resource, value] : list->get_object()) {
    amounts[std::string(resource)] = value.is_string() ? std::string(value.get_string()) : ToText(value);
  }
  return amounts;
}

const std::string* AmountOf(const Amounts& amounts, const std::string& resource) {
  const auto amount = amounts.find(resource);
  return amount == amounts.end() ? nullptr : &amount->second;
}

struct QueueDetails {
  explicit QueueDetails(const json::value& details)
      : queue(FindString(details, "name")),
        wanted(AmountsIn(details, "podGroupRequestedResources")),
        wanted_non_preemptible(AmountsIn(details, "podGroupRequestedNonPreemptibleResources")),
        quota(AmountsIn(details, "queueDeservedResources")),
        limit(AmountsIn(details, "queueResourceLimits")),
        allocated(AmountsIn(details, "queueAllocatedResources")),
        allocated_non_preemptible(AmountsIn(details, "queueAllocatedNonPreemptibleResources")),
        requested(AmountsIn(details, "queueRequestedResources")) {}

  std::set<std::string> Resources() const {
    std::set<std::string> resources;
    for (const Amounts* amounts :
         {&wanted, &wanted_non_preemptible, &quota, &limit, &allocated, &allocated_non_preemptible, &requested}) {
      for (const auto& [resource, amount] : *amounts) resources.insert(resource);
    }
    return resources;
  }
  // Returns "quota 8, limit 10, allocated 7 (5 non-preemptible), requested 12, available 3".
  std::string TextOf(const std::string& resource) const;

  std::string queue;
  Amounts wanted, wanted_non_preemptible, quota, limit, allocated, allocated_non_preemptible, requested;
};

// Returns `most` minus `taken`; nullopt if either is unknown or `most` is no limit.
std::optional<std::string> LeftOf(const std::string* most, const std::string* taken) {
  if (most == nullptr || taken == nullptr) return std::nullopt;
  const absl::StatusOr<kube::Quantity> all = kube::Quantity::Parse(*most);
  const absl::StatusOr<kube::Quantity> used = kube::Quantity::Parse(*taken);
  if (!all.ok() || !used.ok() || all->IsNegative()) return std::nullopt;  // -1 means unlimited.
  return *used < *all ? (*all - *used).Text() : "0";
}

std::string QueueDetails::TextOf(const std::string& resource) const {
  std::string text;
  const auto add = [&](std::string_view what, const Amounts& amounts, const Amounts* non_preemptible = nullptr) {
    const std::string* const amount = AmountOf(amounts, resource);
    if (amount == nullptr) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, *amount);
    const std::string* const part = non_preemptible == nullptr ? nullptr : AmountOf(*non_preemptible, resource);
    if (part != nullptr) text += fmt::format(" ({} non-preemptible)", *part);
  };
  add("the group requests", wanted, &wanted_non_preemptible);
  add("quota", quota);
  add("limit", limit);
  add("allocated", allocated, &allocated_non_preemptible);
  add("requested by all groups", requested);
  const std::string* const taken = AmountOf(allocated, resource);
  if (const auto left = LeftOf(AmountOf(quota, resource), taken)) text += fmt::format(", left of the quota {}", *left);
  if (const auto left = LeftOf(AmountOf(limit, resource), taken)) text += fmt::format(", left of the limit {}", *left);
  return text;
}

void AddReason(const std::string& where, const json::value& reason, std::vector<std::string>& texts) {
  texts.push_back(fmt::format("{}{}: {}", where, FindString(reason, "reason"), FindString(reason, "message")));
  const json::value* const details = FindPath(reason, {"details", "queueDetails"});
  if (details == nullptr || !details->is_object()) return;
  const QueueDetails known(*details);
  for (const std::string& resource : known.Resources()) {
    texts.push_back(fmt::format("{}queue {}, {}: {}", where, known.queue, resource, known.TextOf(resource)));
  }
}

}  // namespace

std::vector<std::string> UnschedulableReasons(const kube::v1::KaiPodGroup& group) {
  std::vector<std::string> texts;
  const absl::StatusOr<json::value> status = ParseJson(group.status_json().empty() ? "{}" : group.status_json());
  const json::value* const conditions = status.ok() ? Find(*status, "schedulingConditions") : nullptr;
  if (conditions == nullptr || !conditions->is_array()) return texts;
  for (const json::value& condition : conditions->get_array()) {
    const std::string pool(FindString(condition, "nodePool"));
    const std::string where = pool.empty() ? "" : fmt::format("node pool {}: ", pool);
    const json::value* const reasons = Find(condition, "reasons");
    if (reasons == nullptr || !reasons->is_array() || reasons->get_array().empty()) {
      // Earlier releases have this form.
      if (!FindString(condition, "reason").empty()) AddReason(where, condition, texts);
      continue;
    }
    for (const json::value& reason : reasons->get_array()) AddReason(where, reason, texts);
  }
  return texts;
}

}  // namespace basalt::pgsvc
