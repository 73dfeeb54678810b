#include "services/pgsvc/core/kai/group_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/kai_group.h"

namespace basalt::pgsvc {
namespace {

// What a group need not have. Of these, what somebody else has put there stays.
constexpr std::string_view kOptional[] = {"preemptibility", "preemptionDelay", "stalenessGracePeriod", "subGroups",
                                          "topologyConstraint"};

bool IsEmpty(const json::value* value) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_object()) return value->get_object().empty();
  if (value->is_array()) return value->get_array().empty();
  return value->is_string() && value->get_string().empty();
}

// Numbers by their value: a parser may say of 1 that it is signed or not.
bool IsSame(const json::value* a, const json::value* b) { return IsEmpty(a) ? IsEmpty(b) : b != nullptr && *a == *b; }

std::string GroupedFields(const json::object& spec) {
  std::string fields;
  for (const std::string_view field : kOptional) {
    if (IsEmpty(spec.if_contains(field))) continue;
    fields += (fields.empty() ? "" : ",") + std::string(field);
  }
  return fields;
}

bool IsListed(std::string_view list, std::string_view field) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == field) return true;
    list.remove_prefix(std::min(list.size(), first.size() + 1));
  }
  return false;
}

// The topology counts where it has a name: levels without one are dropped.
json::object WantedSpec(const Grouping& wanted) {
  json::object group = KaiGroupOf(wanted);
  json::object spec = std::move(group["spec"].as_object());
  if (wanted.topology.name.empty()) spec["topologyConstraint"] = json::object();
  return spec;
}

json::object StorableSpec(const Grouping& wanted, const KaiGroupForm& form) {
  json::object spec = WantedSpec(wanted);
  FitInto(form, spec);
  return spec;
}

json::object SpecPatch(const json::value& observed, const json::object& wanted, std::string_view grouped,
                       bool follows_queue) {
  json::object patch;
  const auto set = [&](std::string_view field) {
    const json::value* const now = wanted.if_contains(field);
    const json::value* const before = Find(observed, field);
    if (IsSame(before, now)) return;
    patch[field] = IsEmpty(now) ? json::value(nullptr) : *now;
  };
  for (const std::string_view field : {"minMember", "minSubGroup", "priorityClassName"}) set(field);
  for (const std::string_view field : kOptional) {
    if (!IsEmpty(wanted.if_contains(field)) || IsListed(grouped, field)) set(field);
  }
  // Fixed when the group is made; a group without one is never placed.
  if (follows_queue || IsEmpty(Find(observed, "queue"))) set("queue");
  return patch;
}

// A topology is replaced as a whole: what a merge patch leaves out would stay.
void ClearLevels(const json::value& observed, json::object& patch) {
  json::value* const wanted = patch.if_contains("topologyConstraint");
  const json::value* const before = Find(observed, "topologyConstraint");
  if (wanted == nullptr || !wanted->is_object() || before == nullptr || !before->is_object()) return;
  for (const auto& [key, value] : before->get_object()) {
    if (!wanted->get_object().contains(key)) wanted->get_object()[key] = nullptr;
  }
}

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

json::object Differing(const Pairs& observed, const std::map<std::string, std::string>& wanted) {
  json::object differing;
  for (const auto& [key, value] : wanted) {
    if (FindKey(observed, key) != value) differing[key] = value;
  }
  return differing;
}

// The node pool is fixed when the group is made, as the queue is.
json::object LabelsPatch(const Pairs& observed, const Grouping& wanted, const RuleOptions& options) {
  std::map<std::string, std::string> labels = wanted.labels;
  labels.erase(options.node_pool_label);
  if (!options.follows_queue && FindKey(observed, options.queue_label)) labels.erase(options.queue_label);
  return Differing(observed, labels);
}

bool HasOwner(const kube::v1::KaiPodGroup& observed, const GroupOwner& wanted) {
  const auto& owners = observed.meta().owner_references();
  if (owners.size() != 1) return false;
  const kube::v1::OwnerReference& owner = owners[0];
  return owner.api_version() == wanted.api_version && owner.kind() == wanted.kind && owner.name() == wanted.name &&
         owner.uid() == wanted.uid && !owner.controller() && !owner.block_owner_deletion();
}

}  // namespace

json::object NewKaiGroup(const Grouping& wanted, const KaiGroupForm& form) {
  json::object group = KaiGroupOf(wanted);
  json::object& spec = group["spec"].as_object();
  spec = StorableSpec(wanted, form);
  const std::string fields = GroupedFields(spec);
  if (!fields.empty()) ObjectIn(group["metadata"].as_object(), "annotations")[kube::kGroupedFieldsKey] = fields;
  return group;
}

bool IsKaiGroupOf(const kube::v1::KaiPodGroup& observed, const Grouping& wanted) {
  if (FindKey(observed.meta().annotations(), kube::kKaiTopOwnerKey)) return true;
  const auto& owners = observed.meta().owner_references();
  return std::any_of(owners.begin(), owners.end(),
                     [&wanted](const auto& owner) { return owner.uid() == wanted.owner.uid; });
}

std::optional<GroupUpdate> KaiUpdateOf(const kube::v1::KaiPodGroup& observed, const Grouping& wanted,
                                       const RuleOptions& options, const KaiGroupForm& form) {
  const absl::StatusOr<json::value> parsed = ParseJson(observed.spec_json().empty() ? "{}" : observed.spec_json());
  const json::value spec = parsed.ok() ? *parsed : json::value(json::object());
  const json::object wanted_spec = StorableSpec(wanted, form);
  const auto& annotations_now = observed.meta().annotations();
  const std::string grouped_now(FindKey(annotations_now, kube::kGroupedFieldsKey).value_or(""));

  json::object spec_patch =
      SpecPatch(spec, wanted_spec, grouped_now, options.follows_queue && !wanted.has_default_queue);
  ClearLevels(spec, spec_patch);
  json::object annotations = Differing(annotations_now, wanted.annotations);
  const std::string grouped = GroupedFields(wanted_spec);
  if (grouped != grouped_now) {
    annotations[kube::kGroupedFieldsKey] = grouped.empty() ? json::value(nullptr) : json::value(grouped);
  }
  json::object labels = LabelsPatch(observed.meta().labels(), wanted, options);

  GroupUpdate update;
  json::object metadata;
  for (const auto& member : spec_patch) update.fields.emplace_back(member.key());
  const auto put = [&](std::string_view name, json::value part) {
    update.fields.emplace_back(name);
    metadata[name] = std::move(part);
  };
  if (!annotations.empty()) put("annotations", std::move(annotations));
  if (!labels.empty()) put("labels", std::move(labels));
  if (!HasOwner(observed, wanted.owner)) {
    json::object group = KaiGroupOf(wanted);
    put("ownerReferences", group["metadata"].as_object()["ownerReferences"]);
  }
  if (update.fields.empty()) return std::nullopt;
  std::sort(update.fields.begin(), update.fields.end());
  json::object patch;
  if (!spec_patch.empty()) patch["spec"] = std::move(spec_patch);
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  update.patch = ToText(patch);
  return update;
}

std::vector<std::string> UnschedulableReasons(const kube::v1::KaiPodGroup& group) {
  std::vector<std::string> texts;
  const absl::StatusOr<json::value> status = ParseJson(group.status_json().empty() ? "{}" : group.status_json());
  const json::value* const conditions = status.ok() ? Find(*status, "schedulingConditions") : nullptr;
  if (conditions == nullptr || !conditions->is_array()) return texts;
  for (const json::value& condition : conditions->get_array()) {
    const std::string pool(FindString(condition, "nodePool"));
    const std::string where = pool.empty() ? "" : fmt::format("node pool {}: ", pool);
    const auto add = [&](const json::value& reason) {
      texts.push_back(fmt::format("{}{}: {}", where, FindString(reason, "reason"), FindString(reason, "message")));
    };
    const json::value* const reasons = Find(condition, "reasons");
    if (reasons == nullptr || !reasons->is_array() || reasons->get_array().empty()) {
      if (!FindString(condition, "reason").empty()) add(condition);  // The form of earlier releases.
      continue;
    }
    for (const json::value& reason : reasons->get_array()) add(reason);
  }
  return texts;
}

std::vector<std::string> LossesOf(const Grouping& wanted, const KaiGroupForm& form) {
  json::object spec = WantedSpec(wanted);
  return FitInto(form, spec);
}

std::optional<std::string> KaiPodPatch(const kube::v1::Pod& pod, std::string_view group, std::string_view sub_group) {
  json::object metadata;
  if (FindKey(pod.grouping().annotations(), kube::kKaiGroupNameKey) != group) {
    metadata["annotations"] = json::object{{kube::kKaiGroupNameKey, group}};
  }
  const std::optional<std::string_view> label = FindKey(pod.grouping().labels(), kube::kKaiSubGroupNameKey);
  if (label.value_or("") != sub_group || (label && sub_group.empty())) {
    // A label that leads to no subgroup any more keeps the pod from being placed (weakness G18).
    metadata["labels"] =
        json::object{{kube::kKaiSubGroupNameKey, sub_group.empty() ? json::value(nullptr) : json::value(sub_group)}};
  }
  if (metadata.empty()) return std::nullopt;
  return ToText(json::object{{"metadata", std::move(metadata)}});
}

}  // namespace basalt::pgsvc
