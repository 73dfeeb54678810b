#include "kubesim/server/admission/admission.h"

#include <vector>

#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/crd/crd.h"
#include "kubesim/server/admission/kai_webhook.h"
#include "kubesim/server/request/errors.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {
namespace {

absl::Status Refused(const TypeInfo& type, const json::value& object, std::vector<FieldError> errors) {
  if (errors.empty()) return absl::OkStatus();
  return Invalid(type, MetaString(object, "name"), std::move(errors));
}

}  // namespace

absl::Status AdmitCreate(const TypeInfo& type, json::value& object, std::string_view now) {
  std::vector<FieldError> errors;
  if (!type.builtin) {
    ValidateMetadata(type, object, &errors);
    if (type.schema != nullptr) ValidateAndDefault(*type.schema, object, &errors).IgnoreError();
    if (errors.empty() && IsKaiPodGroup(type)) errors = CheckKaiPodGroup(object, KaiWrite::kCreate);
    return Refused(type, object, std::move(errors));
  }
  PrepareCreate(type, object);
  ValidateObject(type, object, &errors);
  if (!errors.empty()) return Refused(type, object, std::move(errors));
  if (IsCrd(type)) {
    DefaultCrd(object);
    object.as_object()["status"] = MakeCrdStatus(object, now);
  }
  if (IsNamespace(type)) {
    json::value& spec = object.as_object()["spec"];
    if (!spec.is_object()) spec = json::object();
    spec.get_object()["finalizers"] = json::array{"kubernetes"};
    object.as_object()["status"] = json::object{{"phase", "Active"}};
    json::value& labels = MetaOf(object)["labels"];
    if (!labels.is_object()) labels = json::object();
    labels.get_object()["kubernetes.io/metadata.name"] = MetaOf(object)["name"];
  }
  return absl::OkStatus();
}

absl::Status AdmitUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                         json::value& next) {
  std::vector<FieldError> errors;
  if (!type.builtin) {
    ValidateMetadata(type, next, &errors);
    if (type.schema != nullptr) ValidateAndDefault(*type.schema, next, &errors, nullptr, &live).IgnoreError();
    const bool is_checked = errors.empty() && subresource.empty() && IsKaiPodGroup(type);
    if (is_checked) errors = CheckKaiPodGroup(next, KaiWrite::kUpdate);
    return Refused(type, next, std::move(errors));
  }
  if (!subresource.empty()) return absl::OkStatus();
  PrepareUpdate(type, live, next);
  ValidateObject(type, next, &errors);
  ValidateUpdate(type, live, next, &errors);
  if (!errors.empty()) return Refused(type, next, std::move(errors));
  if (IsCrd(type)) DefaultCrd(next);
  return absl::OkStatus();
}

}  // namespace basalt::kubesim
