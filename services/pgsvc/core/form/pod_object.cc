#include "services/pgsvc/core/form/pod_object.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/text.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;
using References = google::protobuf::RepeatedPtrField<kube::v1::OwnerReference>;

void PutTexts(std::string_view name, const Pairs& pairs, json::object& metadata) {
  if (pairs.empty()) return;
  json::object& texts = ObjectIn(metadata, name);
  for (const kube::v1::KeyValue& pair : pairs) texts[pair.key()] = pair.value();
}

void PutOwners(const References& references, json::object& metadata) {
  if (references.empty()) return;
  json::array owners;
  for (const kube::v1::OwnerReference& reference : references) {
    owners.push_back(json::object{{"apiVersion", reference.api_version()},
                                  {"kind", reference.kind()},
                                  {"name", reference.name()},
                                  {"uid", reference.uid()},
                                  {"controller", reference.controller()}});
  }
  metadata["ownerReferences"] = std::move(owners);
}

// Only `key` counts: KAI's own annotation means nothing on pods of another scheduler.
void RenameGroupName(std::string_view key, json::object& metadata) {
  if (!metadata.contains("annotations")) return;
  json::object& annotations = ObjectIn(metadata, "annotations");
  annotations.stable_erase(kube::kKaiGroupNameKey);
  if (const json::value* const name = annotations.if_contains(key); name != nullptr) {
    annotations[kube::kKaiGroupNameKey] = json::value(*name);
  }
}

// Whether the pairs are equal, but for the one with the key `but`.
bool AreSame(const Pairs& a, const Pairs& b, std::string_view but) {
  auto left = a.begin();
  auto right = b.begin();
  while (true) {
    while (left != a.end() && left->key() == but) ++left;
    while (right != b.end() && right->key() == but) ++right;
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (left->key() != right->key() || left->value() != right->value()) return false;
    ++left;
    ++right;
  }
}

bool AreSame(const References& a, const References& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
    return left.SerializeAsString() == right.SerializeAsString();
  });
}

}  // namespace

json::value PodObject(const kube::v1::Pod& pod, std::string_view key) {
  json::object metadata{{"name", pod.name()}, {"namespace", pod.namespace_()}, {"uid", pod.uid()}};
  PutTexts("labels", pod.grouping().labels(), metadata);
  PutTexts("annotations", pod.grouping().annotations(), metadata);
  if (key != kube::kKaiGroupNameKey) RenameGroupName(key, metadata);
  PutOwners(pod.grouping().owner_references(), metadata);
  if (pod.deletion_ms() != 0) metadata["deletionTimestamp"] = kube::FormatTime(pod.deletion_ms());
  json::object spec{{"schedulerName", pod.scheduler_name()}};
  if (!pod.node_name().empty()) spec["nodeName"] = pod.node_name();
  if (!pod.priority_class_name().empty()) spec["priorityClassName"] = pod.priority_class_name();
  json::object object{{"apiVersion", "v1"}, {"kind", "Pod"}};
  object["metadata"] = std::move(metadata);
  object["spec"] = std::move(spec);
  return object;
}

bool LooksTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key) {
  return a.node_name() == b.node_name() && a.priority_class_name() == b.priority_class_name() &&
         a.scheduler_name() == b.scheduler_name() && (a.deletion_ms() == 0) == (b.deletion_ms() == 0) &&
         AreSame(a.grouping().labels(), b.grouping().labels(), kube::kKaiSubGroupNameKey) &&
         AreSame(a.grouping().annotations(), b.grouping().annotations(), key) &&
         AreSame(a.grouping().owner_references(), b.grouping().owner_references());
}

bool NamesTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view key) {
  return FindKey(a.grouping().labels(), kube::kKaiSubGroupNameKey) ==
             FindKey(b.grouping().labels(), kube::kKaiSubGroupNameKey) &&
         FindKey(a.grouping().annotations(), key) == FindKey(b.grouping().annotations(), key);
}

json::value GroupObject(const ObservedGroup& group) {
  const kube::v1::ObjectMeta& meta = group.object.meta();
  json::object metadata{{"name", meta.name()}, {"namespace", meta.namespace_()}, {"uid", meta.uid()}};
  PutTexts("labels", meta.labels(), metadata);
  PutTexts("annotations", meta.annotations(), metadata);
  PutOwners(meta.owner_references(), metadata);
  json::object object{{"apiVersion", kKaiApiVersion}, {"kind", "PodGroup"}};
  object["metadata"] = std::move(metadata);
  absl::StatusOr<json::value> spec = ParseJson(group.spec_json.empty() ? "{}" : group.spec_json);
  object["spec"] = spec.ok() ? *std::move(spec) : json::value(json::object());
  // Rules check whether a group of Volcano's form has subgroups.
  json::array sub_groups;
  for (const kube::v1::SubGroupPolicy& policy : group.object.spec().sub_group_policy()) {
    sub_groups.push_back(json::object{{"name", policy.name()}});
  }
  if (!sub_groups.empty()) object["spec"].as_object()["subGroups"] = std::move(sub_groups);
  return object;
}

}  // namespace basalt::pgsvc
