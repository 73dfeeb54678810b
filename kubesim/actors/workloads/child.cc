#include "kubesim/actors/workloads/child.h"

#include <cstdlib>

#include "common/kube/text.h"

namespace basalt::actors {
namespace {

constexpr std::string_view kRevisionLabels[] = {"pod-template-hash", "controller-revision-hash"};

Child ChildOf(const json::value& object) {
  Child child;
  child.ns = MetaText(object, "namespace");
  child.name = MetaText(object, "name");
  child.uid = MetaText(object, "uid");
  child.version = VersionOf(object);
  child.created_ms = kube::ParseTime(MetaText(object, "creationTimestamp")).value_or(0);
  child.is_deleting = !MetaText(object, "deletionTimestamp").empty();
  if (const json::value* const labels = FindPath(object, {"metadata", "labels"}); labels != nullptr) {
    for (const std::string_view label : kRevisionLabels) {
      if (child.revision.empty()) child.revision = FindString(*labels, label);
    }
  }
  return child;
}

bool SaysReady(const json::value& pod) {
  const json::value* const conditions = FindPath(pod, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const json::value& condition : conditions->get_array()) {
    if (FindString(condition, "type") == "Ready") return FindString(condition, "status") == "True";
  }
  return false;
}

}  // namespace

std::string_view MetaText(const json::value& object, std::string_view member) {
  const json::value* const metadata = Find(object, "metadata");
  return metadata == nullptr ? std::string_view() : FindString(*metadata, member);
}

int64_t VersionOf(const json::value& object) {
  return std::strtoll(std::string(MetaText(object, "resourceVersion")).c_str(), nullptr, 10);
}

std::optional<Controller> ControllerOf(const json::value& object) {
  const json::value* const owners = FindPath(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return std::nullopt;
  for (const json::value& owner : owners->get_array()) {
    const json::value* const controls = Find(owner, "controller");
    if (controls == nullptr || *controls != json::value(true)) continue;
    return Controller{FindString(owner, "apiVersion"), FindString(owner, "kind"), FindString(owner, "uid")};
  }
  return std::nullopt;
}

Child PodChild(const json::value& pod) {
  Child child = ChildOf(pod);
  if (const json::value* const status = Find(pod, "status"); status != nullptr) {
    child.phase = FindString(*status, "phase");
  }
  child.is_ready = SaysReady(pod);
  return child;
}

Child ReplicaSetChild(const json::value& replica_set) {
  Child child = ChildOf(replica_set);
  if (const json::value* const spec = Find(replica_set, "spec"); spec != nullptr) {
    child.replicas = FindInt(*spec, "replicas", 1);
  }
  if (const json::value* const status = Find(replica_set, "status"); status != nullptr) {
    child.pods = FindInt(*status, "replicas");
    child.ready = FindInt(*status, "readyReplicas");
  }
  const json::value* const annotations = FindPath(replica_set, {"metadata", "annotations"});
  if (annotations != nullptr && annotations->is_object()) child.annotations = annotations->get_object();
  return child;
}

}  // namespace basalt::actors
