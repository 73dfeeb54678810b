#include "services/queuesvc/core/queue_requests.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"
#include "common/kube/command.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"

namespace basalt::queuesvc {
namespace {

json::object BodyOf(std::string_view name) {
  json::object body;
  body["apiVersion"] = json::string(kube::kSchedulingApiVersion);
  body["kind"] = json::string(kube::kQueues.name);
  body["metadata"] = json::object{{"name", json::string(name)}};
  return body;
}

// `status` has all fields that the manager owns: a server-side apply removes the others.
gateway::v1::WriteRequest MakeApply(std::string_view queue, std::string_view manager, json::object status) {
  json::object body = BodyOf(queue);
  body["status"] = std::move(status);
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", queue);
  request.set_subresource("status");
  gateway::v1::Patch& patch = *request.mutable_patch();
  patch.set_type(gateway::v1::Patch::TYPE_APPLY);
  patch.set_field_manager(std::string(manager));
  patch.set_force(true);  // State and counts have one rightful owner (weakness Q8).
  patch.set_body(ToText(body));
  return request;
}

}  // namespace

gateway::v1::WriteRequest MakeCreateRequest(std::string_view name) {
  json::object body = BodyOf(name);
  body["spec"] = json::object{{"weight", 1}, {"reclaimable", name != kube::kRootQueue}};
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", name);
  request.mutable_create()->set_body(ToText(body));
  return request;
}

gateway::v1::WriteRequest MakeManifestRequest(std::string_view name, std::string manifest_json, bool dry_run) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", name);
  request.mutable_create()->set_body(std::move(manifest_json));
  request.set_dry_run(dry_run);
  return request;
}

gateway::v1::WriteRequest MakeQueueDeletion(const kube::v1::ObjectMeta& queue) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", queue.name());
  request.mutable_delete_()->set_uid(queue.uid());
  request.mutable_delete_()->set_propagation_policy("Background");
  return request;
}

gateway::v1::WriteRequest MakeParentRequest(const kube::v1::ObjectMeta& queue) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", queue.name());
  // A merge patch works on a queue without a spec, too (weakness Q10).
  const json::object body{{"spec", json::object{{"parent", json::string(kube::kRootQueue)}}}};
  kube::SetMergePatch(ToText(body), queue.uid(), request).set_resource_version(queue.resource_version());
  return request;
}

gateway::v1::WriteRequest MakeClosedByParentRequest(const kube::v1::ObjectMeta& queue, bool closed_by_parent) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kQueues, "", queue.name());
  // A merge patch leaves alone the annotations that others add in the meantime (weakness Q10).
  const json::object annotations{{kube::kClosedByParentKey, closed_by_parent ? "true" : "false"}};
  kube::SetMergePatch(ToText(json::object{{"metadata", json::object{{"annotations", annotations}}}}), queue.uid(),
                      request);
  return request;
}

gateway::v1::WriteRequest MakeCommandCreation(const kube::v1::ObjectMeta& queue, std::string_view action,
                                              std::string_view request_id) {
  constexpr std::string_view kNamespace = "default";
  const std::string name =
      kube::CommandName(queue.name(), action, fmt::format("{}/{}/{}", queue.uid(), action, request_id));
  // The deletion of a queue does not wait for its Commands.
  json::object target = kube::ControllerReference(kube::kSchedulingApiVersion, kube::kQueues.name, queue.name(),
                                                  queue.uid(), /*blocks_deletion=*/false);
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kCommands, kNamespace, name);
  request.mutable_create()->set_body(ToText(kube::CommandObject(kNamespace, name, action, std::move(target))));
  return request;
}

gateway::v1::WriteRequest MakeCommandDeletion(const kube::v1::ObjectMeta& command) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kCommands, command.namespace_(), command.name());
  request.mutable_delete_()->set_uid(command.uid());
  return request;
}

gateway::v1::WriteRequest MakeStateRequest(const kube::v1::Queue& queue, QueueState state) {
  json::object status;
  status["state"] = json::string(FormatQueueState(state));
  gateway::v1::WriteRequest request = MakeApply(queue.meta().name(), "basalt-queue", std::move(status));
  request.mutable_patch()->set_resource_version(queue.meta().resource_version());
  return request;
}

gateway::v1::WriteRequest MakeCountsRequest(std::string_view queue, const queue::v1::PodGroupCounts& counts) {
  json::object status;
  status["pending"] = counts.pending();
  status["inqueue"] = counts.inqueue();
  status["running"] = counts.running();
  status["unknown"] = counts.unknown();
  status["completed"] = counts.completed();
  return MakeApply(queue, "basalt-queue-counts", std::move(status));
}

}  // namespace basalt::queuesvc
