#pragma once

// Requests to the gateway: which object of Kubernetes they are about, whose it is, and which refusals are told.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/json.h"
#include "common/kube/names.h"
#include "common/runtime/controller.h"

namespace basalt::jobsvc {

inline void SetResourceOf(std::string_view group, std::string_view version, std::string_view plural,
                          gateway::v1::Resource& resource) {
  resource.set_group(std::string(group));
  resource.set_version(std::string(version));
  resource.set_plural(std::string(plural));
}

// What to write is the caller's to add.
inline gateway::v1::WriteRequest WriteOf(std::string_view group, std::string_view version, std::string_view plural,
                                         const std::string& ns, const std::string& name) {
  gateway::v1::WriteRequest request;
  SetResourceOf(group, version, plural, *request.mutable_resource());
  request.set_namespace_(ns);
  request.set_name(name);
  return request;
}

// Makes it a patch that sets the annotation to "true" on the object of that UID.
inline void SetAnnotation(std::string_view annotation, const std::string& uid, gateway::v1::WriteRequest& request) {
  gateway::v1::Patch& patch = *request.mutable_patch();
  patch.set_type(gateway::v1::Patch::TYPE_MERGE);
  json::object body;
  body["metadata"] = {{"annotations", {{std::string(annotation), "true"}}}};
  patch.set_body(ToText(body));
  patch.set_field_manager(std::string(kube::kFieldManager));
  patch.set_uid(uid);
}

inline bool IsOwnedBy(const kube::v1::ObjectMeta& meta, std::string_view uid) {
  for (const auto& owner : meta.owner_references()) {
    if (owner.uid() == uid) return true;
  }
  return false;
}

// A refusal that people are told of. A conflict is over with the next try, and telling of overload would make it worse.
inline bool IsTold(const gateway::v1::KubeError& error) {
  return error.code() != 409 && error.code() != 429 && !(error.code() == 503 && error.retry_after_ms() > 0);
}

inline bool IsTold(const runtime::WriteOutcome& outcome) {
  return outcome.kind == runtime::WriteOutcome::Kind::kRefused && IsTold(outcome.error);
}

// What a create is answered where an object of that name exists. Any other 409, such as the conflict of a quota that is
// written by others at the same time, says nothing of the name.
inline bool IsNameTaken(const runtime::WriteOutcome& outcome) {
  return outcome.kind == runtime::WriteOutcome::Kind::kRefused && outcome.error.reason() == "AlreadyExists";
}

// A refused create that people are told of. `lasts`: it is refused again and again, so that a conflict is told, too.
inline bool IsCreateTold(const gateway::v1::KubeError& error, bool lasts) {
  return IsTold(error) || (lasts && error.code() == 409);
}

}  // namespace basalt::jobsvc
