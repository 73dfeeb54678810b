#include "services/pgsvc/core/kai/pod_object.h"

#include <string>
#include <utility>

#include "common/kube/text.h"
#include "services/pgsvc/core/grouping/kai_group.h"

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

}  // namespace

json::value PodObject(const kube::v1::Pod& pod) {
  json::object metadata{{"name", pod.name()}, {"namespace", pod.namespace_()}, {"uid", pod.uid()}};
  PutTexts("labels", pod.grouping().labels(), metadata);
  PutTexts("annotations", pod.grouping().annotations(), metadata);
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

bool LooksTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b) {
  const auto grouping = [](const kube::v1::Pod& pod) {
    kube::v1::PodGrouping read = pod.grouping();
    read.clear_spec_json();
    return read.SerializeAsString();
  };
  return a.node_name() == b.node_name() && a.priority_class_name() == b.priority_class_name() &&
         a.scheduler_name() == b.scheduler_name() && (a.deletion_ms() == 0) == (b.deletion_ms() == 0) &&
         grouping(a) == grouping(b);
}

json::value KaiGroupObject(const kube::v1::KaiPodGroup& group) {
  const kube::v1::ObjectMeta& meta = group.meta();
  json::object metadata{{"name", meta.name()}, {"namespace", meta.namespace_()}, {"uid", meta.uid()}};
  PutTexts("labels", meta.labels(), metadata);
  PutTexts("annotations", meta.annotations(), metadata);
  PutOwners(meta.owner_references(), metadata);
  json::object object{{"apiVersion", kKaiApiVersion}, {"kind", "PodGroup"}};
  object["metadata"] = std::move(metadata);
  absl::StatusOr<json::value> spec = ParseJson(group.spec_json().empty() ? "{}" : group.spec_json());
  object["spec"] = spec.ok() ? *std::move(spec) : json::value(json::object());
  return object;
}

}  // namespace basalt::pgsvc
