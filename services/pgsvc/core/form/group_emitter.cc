#include "services/pgsvc/core/form/group_emitter.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

bool GroupEmitter::TakeDefinition(const json::value* definition) {
  SpecSchema schema = definition == nullptr ? SpecSchema() : SpecSchema::Of(*definition, kind().version);
  if (schema == schema_) return false;
  schema_ = std::move(schema);
  return true;
}

json::object GroupEmitter::OwnerlessObjectOf(const ObservedGroup& group) const {
  const kube::v1::ObjectMeta& meta = group.object.meta();
  json::object metadata{{"name", meta.name()}, {"namespace", meta.namespace_()}};
  const auto put = [&metadata](std::string_view part, const auto& pairs) {
    json::object& texts = ObjectIn(metadata, part);
    for (const kube::v1::KeyValue& pair : pairs) texts[pair.key()] = pair.value();
  };
  put("annotations", meta.annotations());
  put("labels", meta.labels());
  return {{"apiVersion", fmt::format("{}/{}", kind().group, kind().version)},
          {"kind", kind().name},
          {"metadata", std::move(metadata)},
          {"spec", SpecOf(group)}};
}

bool IsMadeHere(const ObservedGroup& observed) {
  return FindKey(observed.object.meta().annotations(), kube::kGroupedFieldsKey).has_value();
}

std::optional<std::string> LinkPatchOf(const kube::v1::Pod& pod, std::string_view key, std::string_view group,
                                       std::string_view sub_group) {
  json::object metadata;
  if (FindKey(pod.grouping().annotations(), key) != group) {
    metadata["annotations"] = json::object{{key, group}};
  }
  const std::optional<std::string_view> label = FindKey(pod.grouping().labels(), kube::kKaiSubGroupNameKey);
  if (label.value_or("") != sub_group || (label && sub_group.empty())) {
    // A label that names no subgroup keeps the pod from being placed (weakness G18).
    metadata["labels"] =
        json::object{{kube::kKaiSubGroupNameKey, sub_group.empty() ? json::value(nullptr) : json::value(sub_group)}};
  }
  if (metadata.empty()) return std::nullopt;
  return ToText(json::object{{"metadata", std::move(metadata)}});
}

}  // namespace basalt::pgsvc
