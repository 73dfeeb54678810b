#include "common/kube/requests.h"

#include <utility>

#include "common/base/json.h"
#include "common/kube/names.h"

namespace basalt::kube {
namespace {

template <typename Request>
Request About(const Kind& kind, std::string_view ns, std::string_view name) {
  Request request;
  *request.mutable_resource() = ResourceOf(kind);
  request.set_namespace_(std::string(ns));
  request.set_name(std::string(name));
  return request;
}

}  // namespace

gateway::v1::Resource ResourceOf(const Kind& kind) {
  gateway::v1::Resource resource;
  resource.set_group(std::string(kind.group));
  resource.set_version(std::string(kind.version));
  resource.set_plural(std::string(kind.plural));
  return resource;
}

gateway::v1::WriteRequest WriteOf(const Kind& kind, std::string_view ns, std::string_view name) {
  return About<gateway::v1::WriteRequest>(kind, ns, name);
}

gateway::v1::GetRequest GetOf(const Kind& kind, std::string_view ns, std::string_view name) {
  return About<gateway::v1::GetRequest>(kind, ns, name);
}

gateway::v1::Patch& SetMergePatch(std::string body, std::string_view uid, gateway::v1::WriteRequest& request) {
  gateway::v1::Patch& patch = *request.mutable_patch();
  patch.set_type(gateway::v1::Patch::TYPE_MERGE);
  patch.set_body(std::move(body));
  patch.set_field_manager(std::string(kFieldManager));
  patch.set_uid(std::string(uid));
  return patch;
}

gateway::v1::Patch& SetAnnotation(std::string_view annotation, std::string_view uid,
                                  gateway::v1::WriteRequest& request) {
  json::object body;
  body["metadata"] = {{"annotations", {{json::string(annotation.data(), annotation.size()), "true"}}}};
  return SetMergePatch(ToText(body), uid, request);
}

}  // namespace basalt::kube
