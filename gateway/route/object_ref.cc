#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using kube::v1::Object;
using kube::v1::ObjectMeta;

template <typename Meta>
ObjectRef FromMeta(const Meta& meta) {
  return {meta.namespace_(), meta.name(), meta.uid(), meta.resource_version(), meta.deletion_ms()};
}

template <typename Meta>
void CopyIdentity(const ObjectRef& from, Meta& to) {
  to.set_namespace_(std::string(from.ns));
  to.set_name(std::string(from.name));
  to.set_uid(std::string(from.uid));
  to.set_resource_version(from.resource_version);
}

// Calls `use` with the message that holds the metadata. A pod holds its own.
template <typename Use>
void WithMeta(Object& object, Use use) {
  switch (object.kind_case()) {
    case Object::kJob:
      return use(*object.mutable_job()->mutable_meta());
    case Object::kPod:
      return use(*object.mutable_pod());
    case Object::kPodGroup:
      return use(*object.mutable_pod_group()->mutable_meta());
    case Object::kQueue:
      return use(*object.mutable_queue()->mutable_meta());
    case Object::kCommand:
      return use(*object.mutable_command()->mutable_meta());
    case Object::kPriorityClass:
      return use(*object.mutable_priority_class()->mutable_meta());
    case Object::kWorkload:
      return use(*object.mutable_workload()->mutable_meta());
    case Object::kKaiPodGroup:
      return use(*object.mutable_kai_pod_group()->mutable_meta());
    case Object::kKaiQueue:
      return use(*object.mutable_kai_queue()->mutable_meta());
    case Object::kGeneric:
      return use(*object.mutable_generic()->mutable_meta());
    case Object::KIND_NOT_SET:
      return;
  }
}

}  // namespace

ObjectRef RefOf(const Object& object) {
  switch (object.kind_case()) {
    case Object::kJob:
      return FromMeta(object.job().meta());
    case Object::kPod:
      return FromMeta(object.pod());
    case Object::kPodGroup:
      return FromMeta(object.pod_group().meta());
    case Object::kQueue:
      return FromMeta(object.queue().meta());
    case Object::kCommand:
      return FromMeta(object.command().meta());
    case Object::kPriorityClass:
      return FromMeta(object.priority_class().meta());
    case Object::kWorkload:
      return FromMeta(object.workload().meta());
    case Object::kKaiPodGroup:
      return FromMeta(object.kai_pod_group().meta());
    case Object::kKaiQueue:
      return FromMeta(object.kai_queue().meta());
    case Object::kGeneric:
      return FromMeta(object.generic().meta());
    case Object::KIND_NOT_SET:
      return {};
  }
  return {};
}

void SetResourceVersion(Object& object, int64_t resource_version) {
  WithMeta(object, [&](auto& meta) { meta.set_resource_version(resource_version); });
}

Object IdentityOf(const Object& object) {
  Object identity;
  switch (object.kind_case()) {
    case Object::kJob:
      identity.mutable_job();
      break;
    case Object::kPod:
      identity.mutable_pod();
      break;
    case Object::kPodGroup:
      identity.mutable_pod_group();
      break;
    case Object::kQueue:
      identity.mutable_queue();
      break;
    case Object::kCommand:
      identity.mutable_command();
      break;
    case Object::kPriorityClass:
      identity.mutable_priority_class();
      break;
    case Object::kWorkload:
      identity.mutable_workload()->set_kind(object.workload().kind());
      identity.mutable_workload()->set_api_version(object.workload().api_version());
      break;
    case Object::kKaiPodGroup:
      identity.mutable_kai_pod_group();
      break;
    case Object::kKaiQueue:
      identity.mutable_kai_queue();
      break;
    case Object::kGeneric:
      identity.mutable_generic()->set_kind(object.generic().kind());
      identity.mutable_generic()->set_api_version(object.generic().api_version());
      break;
    case Object::KIND_NOT_SET:
      return identity;
  }
  WithMeta(identity, [ref = RefOf(object)](auto& meta) { CopyIdentity(ref, meta); });
  return identity;
}

}  // namespace basalt::gateway
