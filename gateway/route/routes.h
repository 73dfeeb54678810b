#pragma once

// Who is told of an object: the routing keys of design rule 2 (correctness). Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

inline constexpr int kServiceKinds = 3;  // JOB, POD_GROUP, QUEUE, as 1 … 3 in the enum.

struct RouteOptions {
  // Whose pods get a group of KAI's form.
  std::vector<std::string> kai_scheduler_names;
  // Pods of all other schedulers are grouped by the rules of all kinds, too (pod-grouper 11).
  bool is_rich = false;
};

struct Route {
  v1::ServiceKind service;
  // namespace/name; a queue's name; or a namespace (kube::NamespaceKey), which all pods and groups in it belong to
  // that are grouped by the rules of all kinds: who belongs together is seen by owners of owners, which may be anywhere
  // in the namespace and nowhere else.
  std::string key;
  friend bool operator==(const Route&, const Route&) = default;
};

// At most one route for each service, in the order of the enum. Empty: nobody's, or broadcast.
std::vector<Route> Routes(const kube::v1::Object& object, const RouteOptions& options = {});

// Queues and priority classes go to every replica.
bool IsBroadcast(const kube::v1::Object& object);

// What `service` is sent of `object`: queuesvc gets of a pod group its identity, queue and phase.
void ReduceFor(v1::ServiceKind service, kube::v1::Object& object);
// Whether that may change anything at all.
bool IsReducedFor(v1::ServiceKind service);

// Whether the pod, as last seen, would still be shown by the pod watch of that id. True for every other watch.
bool MatchesWatch(std::string_view watch, const kube::v1::Object& object);

// Whether a slot of `service` waits for that watch before it is complete.
bool Uses(v1::ServiceKind service, std::string_view watch);

}  // namespace basalt::gateway
