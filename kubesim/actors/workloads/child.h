#pragma once

// What a controller of workloads knows of the objects that it has made: pods, or the ReplicaSets of a Deployment. Pure.
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
  std::string revision = {};  // Label: the template that it was made of. Empty: its owner says none.
  bool is_deleting = false;
  // Set where the child is a pod.
  std::string phase = {};
  bool is_ready = false;
  // Set where the child is a ReplicaSet: spec.replicas, and what its status counts.
  int64_t replicas = 0;
  int64_t pods = 0;
  int64_t ready = 0;
  bool is_counted = true;  // The status is of the spec that is there.
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

// "" where there is none.
std::string_view MetaText(const json::value& object, std::string_view member);
int64_t VersionOf(const json::value& object);

}  // namespace basalt::actors
