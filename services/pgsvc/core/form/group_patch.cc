#include "services/pgsvc/core/form/group_patch.h"

#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

bool IsEmpty(const json::value* value) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_object()) return value->get_object().empty();
  if (value->is_array()) return value->get_array().empty();
  return value->is_string() && value->get_string().empty();
}

// Compares numbers by value: a parser may store 1 as signed or unsigned.
bool IsSame(const json::value* a, const json::value* b) { return IsEmpty(a) ? IsEmpty(b) : b != nullptr && *a == *b; }

bool IsListed(std::string_view list, std::string_view field) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == field) return true;
    list.remove_prefix(std::min(list.size(), first.size() + 1));
  }
  return false;
}

json::object SpecPatch(const json::value& observed, const json::value& wanted, std::string_view grouped,
                       const PatchRules& rules) {
  json::object patch;
  const auto set = [&](std::string_view field) {
    const json::value* const now = Find(wanted, field);
    const json::value* const before = Find(observed, field);
    if (IsSame(before, now)) return;
    patch[field] = IsEmpty(now) ? json::value(nullptr) : *now;
  };
  for (const std::string_view field : rules.own) set(field);
  for (const std::string_view field : rules.optional) {
    if (!IsEmpty(Find(wanted, field)) || IsListed(grouped, field)) set(field);
  }
  // The scheduler never places a group without a queue.
  if (rules.follows_queue || IsEmpty(Find(observed, "queue"))) set("queue");
  return patch;
}

// Sets members to null that are not wanted: the patch replaces a whole object, and a merge patch keeps whatever it
// omits.
void ClearMembers(const json::value& observed, json::object& patch) {
  for (auto& field : patch) {
    const json::value* const before = Find(observed, field.key());
    if (!field.value().is_object() || before == nullptr || !before->is_object()) continue;
    json::object& wanted = field.value().get_object();
    for (const auto& [key, value] : before->get_object()) {
      if (!wanted.contains(key)) wanted[key] = nullptr;
    }
  }
}

json::object Differing(const Pairs& observed, const json::value* wanted, const std::set<std::string>& but) {
  json::object differing;
  if (wanted == nullptr) return differing;
  for (const auto& [key, value] : wanted->as_object()) {
    if (!but.contains(std::string(key)) && FindKey(observed, key) != value.as_string()) differing[key] = value;
  }
  return differing;
}

bool IsSameOwner(const kube::v1::OwnerReference& observed, const json::value& wanted) {
  const json::value* const controller = Find(wanted, "controller");
  return observed.api_version() == FindString(wanted, "apiVersion") && observed.kind() == FindString(wanted, "kind") &&
         observed.name() == FindString(wanted, "name") && observed.uid() == FindString(wanted, "uid") &&
         observed.controller() == (controller != nullptr && controller->as_bool()) && !observed.block_owner_deletion();
}

json::value OwnerObject(const kube::v1::OwnerReference& owner) {
  json::object object{
      {"apiVersion", owner.api_version()}, {"kind", owner.kind()}, {"name", owner.name()}, {"uid", owner.uid()}};
  if (owner.controller()) object["controller"] = true;
  if (owner.block_owner_deletion()) object["blockOwnerDeletion"] = true;
  return object;
}

// Returns nullopt if the owner references are as wanted. `wanted` has exactly one; if it is null, the references stay.
std::optional<json::array> OwnersPatch(const kube::v1::ObjectMeta& observed, const json::value* wanted,
                                       bool is_only_owner) {
  if (wanted == nullptr) return std::nullopt;
  const json::value& own = wanted->as_array().front();
  const auto& owners = observed.owner_references();
  const bool has_own = std::any_of(owners.begin(), owners.end(), [&own](const auto& o) { return IsSameOwner(o, own); });
  if (has_own && (!is_only_owner || owners.size() == 1)) return std::nullopt;
  json::array patch;
  if (!is_only_owner) {
    for (const kube::v1::OwnerReference& owner : owners) {
      // Only one controller is allowed: an earlier plan named another one.
      if (owner.uid() != FindString(own, "uid") && !owner.controller()) patch.push_back(OwnerObject(owner));
    }
  }
  patch.push_back(own);
  return patch;
}

}  // namespace

std::string GroupedFields(std::span<const std::string_view> optional, const json::object& group) {
  std::string fields;
  for (const std::string_view field : optional) {
    if (IsEmpty(Find(group.at("spec"), field))) continue;
    fields += (fields.empty() ? "" : ",") + std::string(field);
  }
  return fields;
}

std::optional<GroupUpdate> GroupUpdateOf(const kube::v1::ObjectMeta& observed, const json::value& observed_spec,
                                         const json::object& wanted, const PatchRules& rules) {
  const json::value& wanted_meta = wanted.at("metadata");
  const std::optional<std::string_view> grouped = FindKey(observed.annotations(), kube::kGroupedFieldsKey);
  json::object spec = SpecPatch(observed_spec, wanted.at("spec"), grouped.value_or(""), rules);
  ClearMembers(observed_spec, spec);
  const json::value* const wanted_annotations = Find(wanted_meta, "annotations");
  json::object annotations = Differing(observed.annotations(), wanted_annotations, {});
  const auto is_wanted = [wanted_annotations](std::string_view key) {
    return wanted_annotations != nullptr && wanted_annotations->as_object().contains(key);
  };
  if (grouped && !is_wanted(kube::kGroupedFieldsKey)) annotations[kube::kGroupedFieldsKey] = nullptr;
  DropInherited(observed.annotations(), is_wanted, annotations);
  json::object labels = Differing(observed.labels(), Find(wanted_meta, "labels"), rules.fixed_labels);
  std::optional<json::array> owners = OwnersPatch(observed, Find(wanted_meta, "ownerReferences"), rules.is_only_owner);
  return UpdateOfParts(std::move(spec), std::move(annotations), std::move(labels), std::move(owners));
}

}  // namespace basalt::pgsvc
