#include "gateway/kube/object_name.h"

namespace basalt::gateway {
namespace {

template <typename Meta>
ObjectName FromMeta(const Meta& meta) {
  return {meta.namespace_(), meta.name(), meta.uid(), meta.resource_version(), meta.deletion_ms()};
}

}  // namespace

ObjectName NameOf(const kube::v1::Object& object) {
  switch (object.kind_case()) {
    case kube::v1::Object::kJob:
      return FromMeta(object.job().meta());
    case kube::v1::Object::kPod:
      return FromMeta(object.pod());
    case kube::v1::Object::kPodGroup:
      return FromMeta(object.pod_group().meta());
    case kube::v1::Object::kQueue:
      return FromMeta(object.queue().meta());
    case kube::v1::Object::kCommand:
      return FromMeta(object.command().meta());
    case kube::v1::Object::kPriorityClass:
      return FromMeta(object.priority_class().meta());
    case kube::v1::Object::kGeneric:
      return FromMeta(object.generic().meta());
    case kube::v1::Object::KIND_NOT_SET:
      break;
  }
  return {};
}

}  // namespace basalt::gateway
