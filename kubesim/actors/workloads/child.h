#pragma once

// The objects that a controller of workloads has made: pods, or the ReplicaSets of a Deployment. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/json.h"

namespace basalt::actors {

struct Child {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  int64_t version = 0;  // resourceVersion.
  int64_t created_ms = 0;
  std::string revision = {};  // The label that names the child's template. Empty if owners of this kind set none.
  bool is_deleting = false;
  std::string phase = {};  // Set if the child is a pod.
  bool is_ready = false;   // Set if the child is a pod.
  // The next members are set if the child is a ReplicaSet.
  int64_t replicas = 0;  // spec.replicas.
  int64_t pods = 0;      // By the status.
  int64_t ready = 0;     // By the status.
  json::object annotations = {};

  bool IsOver() const { return phase == "Succeeded" || phase == "Failed"; }
  bool IsActive() const { return !is_deleting && !IsOver(); }
  bool IsHealthy() const { return IsActive() && is_ready; }
};

Child PodChild(const json::value& pod);
Child ReplicaSetChild(const json::value& replica_set);

// The owner reference of an object that has controller: true.
struct Controller {
  std::string_view api_version;
  std::string_view kind;
  std::string_view uid;
};
std::optional<Controller> ControllerOf(const json::value& object);

// Returns the text of a member of the metadata. Empty if there is none.
std::string_view MetaText(const json::value& object, std::string_view member);
int64_t VersionOf(const json::value& object);

}  // namespace basalt::actors
