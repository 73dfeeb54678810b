#include "services/pgsvc/core/group_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/json.h"
#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"
#include "services/pgsvc/core/empty_group.h"
#include "services/pgsvc/core/group_decision.h"

namespace basalt::pgsvc {
namespace {

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

Annotations TextsOf(const Pairs& pairs) {
  Annotations texts;
  for (const kube::v1::KeyValue& pair : pairs) texts.emplace(pair.key(), pair.value());
  return texts;
}

json::object Differing(const Pairs& observed, const Annotations& wanted) {
  json::object differing;
  for (const auto& [key, value] : wanted) {
    if (FindKey(observed, key) != value) differing[key] = value;
  }
  return differing;
}

json::object SpecPatch(const kube::v1::PodGroupSpec& observed, const kube::v1::PodGroupSpec& wanted) {
  kube::v1::PodGroupSpec next = observed;
  next.set_min_member(wanted.min_member());
  next.set_has_min_resources(true);
  *next.mutable_min_resources() = wanted.min_resources();
  if (!wanted.priority_class_name().empty()) next.set_priority_class_name(wanted.priority_class_name());
  if (wanted.has_network_topology()) *next.mutable_network_topology() = wanted.network_topology();
  json::object patch;
  if (kube::PodGroupDiffers(observed, next)) {
    const absl::StatusOr<json::value> text = ParseJson(kube::PodGroupPatch(observed, next));
    if (text.ok()) patch = text->at("spec").as_object();
  }
  if (!wanted.queue().empty() && wanted.queue() != observed.queue()) patch["queue"] = wanted.queue();
  return patch;
}

// Puts null into the patch for each key of the list that is observed and wanted no longer.
void DropListed(std::string_view list, const Pairs& observed, const std::function<bool(std::string_view)>& is_wanted,
                json::object& patch) {
  while (!list.empty()) {
    const std::string_view key = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), key.size() + 1));
    if (!key.empty() && !is_wanted(key) && FindKey(observed, key)) patch[key] = nullptr;
  }
}

bool SameButGroupName(const Pairs& a, const Pairs& b) {
  const auto has = [](const Pairs& pairs, const kube::v1::KeyValue& wanted) {
    return wanted.key() == kube::kGroupNameKey || FindKey(pairs, wanted.key()) == wanted.value();
  };
  return std::all_of(a.begin(), a.end(), [&](const auto& pair) { return has(b, pair); }) &&
         std::all_of(b.begin(), b.end(), [&](const auto& pair) { return has(a, pair); });
}

bool SameLabel(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key) {
  return FindKey(a.grouping().labels(), key) == FindKey(b.grouping().labels(), key);
}

}  // namespace

bool IsGroupOf(const kube::v1::PodGroup& group, const kube::v1::Workload& owner) {
  return ControllerOf(group) == owner.meta().uid();
}

bool WantsNoPods(const kube::v1::Workload& owner) {
  return (owner.has_replicas() && owner.replicas() == 0) || (owner.has_parallelism() && owner.parallelism() == 0) ||
         owner.suspended();
}

Annotations AnnotationsOf(const kube::v1::Workload& owner) { return TextsOf(owner.meta().annotations()); }

OwnerFact FactOf(const kube::v1::Workload& owner) {
  return {.is_going = owner.meta().deletion_ms() != 0,
          .group_maker = MakerOfGroups(owner.meta().owner_references()),
          .annotations = AnnotationsOf(owner)};
}

WantedGroup AsItIs(const kube::v1::PodGroup& group) {
  return {.spec = group.spec(),
          .annotations = TextsOf(group.meta().annotations()),
          .labels = TextsOf(group.meta().labels())};
}

std::optional<GroupUpdate> UpdateOfParts(json::object spec, json::object annotations, json::object labels,
                                         std::optional<json::array> owners) {
  GroupUpdate update;
  json::object metadata;
  for (const auto& member : spec) update.fields.emplace_back(member.key());
  const auto put = [&](std::string_view name, json::value part) {
    update.fields.emplace_back(name);
    metadata[name] = std::move(part);
  };
  if (!annotations.empty()) put("annotations", std::move(annotations));
  if (!labels.empty()) put("labels", std::move(labels));
  if (owners) put("ownerReferences", *std::move(owners));
  if (update.fields.empty()) return std::nullopt;
  std::sort(update.fields.begin(), update.fields.end());
  json::object patch;
  if (!spec.empty()) patch["spec"] = std::move(spec);
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  update.patch = ToText(patch);
  return update;
}

std::optional<GroupUpdate> UpdateOf(const kube::v1::PodGroup& observed, const WantedGroup& wanted) {
  json::object spec = SpecPatch(observed.spec(), wanted.spec);
  json::object annotations = Differing(observed.meta().annotations(), wanted.annotations);
  const auto is_wanted = [&wanted](std::string_view key) { return wanted.annotations.contains(key); };
  DropInherited(observed.meta().annotations(), is_wanted, annotations);
  json::object labels = Differing(observed.meta().labels(), wanted.labels);
  const auto is_wanted_label = [&wanted](std::string_view key) { return wanted.labels.contains(key); };
  if (const auto inherited = FindKey(observed.meta().annotations(), kInheritedLabelsKey)) {
    DropListed(*inherited, observed.meta().labels(), is_wanted_label, labels);
    if (!is_wanted(kInheritedLabelsKey)) annotations[kInheritedLabelsKey] = nullptr;
  }
  return UpdateOfParts(std::move(spec), std::move(annotations), std::move(labels), std::nullopt);
}

void DropInherited(const Pairs& observed, const std::function<bool(std::string_view)>& is_wanted, json::object& patch) {
  const std::optional<std::string_view> inherited = FindKey(observed, kube::kInheritedKey);
  if (!inherited) return;
  DropListed(*inherited, observed, is_wanted, patch);
  if (!is_wanted(kube::kInheritedKey)) patch[kube::kInheritedKey] = nullptr;
}

bool AskForTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b) {
  return a.priority_class_name() == b.priority_class_name() && a.grouping().spec_json() == b.grouping().spec_json() &&
         SameButGroupName(a.grouping().annotations(), b.grouping().annotations()) &&
         SameLabel(a, b, kube::kPreemptableKey) && SameLabel(a, b, kube::kCooldownTimeKey);
}

std::string WhyNeverPlaced(const WantedGroup& wanted, const kube::v1::Workload& owner) {
  if (!owner.has_replicas() || owner.replicas() == 0 || wanted.spec.min_member() <= owner.replicas()) return {};
  return fmt::format("{} of {} {} asks for {} pods together, and it has {}: they will never be placed",
                     kube::kGroupMinMemberKey, owner.kind(), owner.meta().name(), wanted.spec.min_member(),
                     owner.replicas());
}

}  // namespace basalt::pgsvc
