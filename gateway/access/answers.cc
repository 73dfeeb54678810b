#include "gateway/access/answers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"

namespace basalt::gateway {
namespace {

bool IsSecret(const v1::Resource& resource) { return kube::kSecrets.Is(resource.group(), resource.plural()); }

bool IsOfVolcano(std::string_view key) {
  const std::string_view domain = key.substr(0, key.find('/'));
  return domain == "volcano.sh" || domain.ends_with(".volcano.sh");
}

std::string CountIn(const std::string& event) {
  const absl::StatusOr<json::value> body = ParseJson(event);
  const json::value* const count = body.ok() ? Find(*body, "count") : nullptr;
  return count != nullptr && count->is_number() ? ToText(json::object{{"count", *count}}) : "{}";
}

kube::v1::ObjectMeta ReducedMeta(const v1::Owner& owner, const kube::v1::ObjectMeta& whole) {
  kube::v1::ObjectMeta meta;
  meta.set_namespace_(whole.namespace_());
  meta.set_name(whole.name());
  meta.set_uid(whole.uid());
  meta.set_resource_version(whole.resource_version());
  const bool is_for_job = owner.member().service() == v1::SERVICE_KIND_JOB;
  const std::string_view job = is_for_job ? kube::SplitKey(owner.key()).name : std::string_view();
  for (const kube::v1::OwnerReference& reference : whole.owner_references()) {
    if (is_for_job && reference.api_version() == kube::kJobApiVersion && reference.kind() == kube::kJobs.name &&
        reference.name() == job) {
      *meta.add_owner_references() = reference;
    }
  }
  if (owner.member().service() != v1::SERVICE_KIND_POD_GROUP) return meta;
  for (const kube::v1::KeyValue& annotation : whole.annotations()) {
    if (IsOfVolcano(annotation.key())) *meta.add_annotations() = annotation;
  }
  return meta;
}

}  // namespace

void ReduceObject(const v1::Owner& owner, const v1::Resource& resource, kube::v1::Object& object) {
  if (!object.has_generic()) return;
  kube::v1::GenericObject& generic = *object.mutable_generic();
  const bool is_event = kube::kEvents.Is(resource.group(), resource.plural());
  generic.set_json(is_event ? CountIn(generic.json()) : std::string());
  *generic.mutable_meta() = ReducedMeta(owner, generic.meta());
}

void ReduceForeign(kube::v1::Object& object) {
  if (!object.has_pod()) return;
  const kube::v1::Pod& whole = object.pod();
  kube::v1::Pod pod;
  pod.set_namespace_(whole.namespace_());
  pod.set_name(whole.name());
  pod.set_uid(whole.uid());
  pod.set_resource_version(whole.resource_version());
  pod.set_creation_ms(whole.creation_ms());
  pod.set_owner_uid(whole.owner_uid());
  pod.set_owner_kind(whole.owner_kind());
  pod.set_owner_api_version(whole.owner_api_version());
  *object.mutable_pod() = std::move(pod);
}

void ReduceError(const v1::Resource& resource, v1::KubeError& error) {
  if (!IsSecret(resource)) return;
  error.set_message(fmt::format("the API server refuses it as {} ({})", error.reason(), error.code()));
  error.clear_fields();
}

absl::Status ReduceStatus(const v1::Resource& resource, absl::Status status) {
  // For these two codes, the gateway itself states what is wrong with the request.
  if (status.ok() || absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) || !IsSecret(resource)) {
    return status;
  }
  return MakeStatus(status.code(), "the request about a Secret has no answer that can be read");
}

}  // namespace basalt::gateway
