#pragma once

// Decides which replicas receive an object: the routing keys of design rule 2 (correctness). Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

inline constexpr int kServiceKinds = 3;  // JOB, POD_GROUP and QUEUE have the numbers 1 … 3 in the enum.

struct RouteOptions {
  // The schedulers whose pods get a group of KAI's form.
  std::vector<std::string> kai_scheduler_names;
  // Whether pods of all other schedulers, too, are grouped by the rules of all kinds (pod-grouper 11).
  bool is_rich = false;
};

struct Route {
  v1::ServiceKind service;
  // Contains namespace/name, the name of a queue, or a namespace (kube::NamespaceKey). A namespace is the key of all
  // pods and groups in it that are grouped by the rules of all kinds: owners of owners decide which pods belong
  // together, and these may be anywhere in the namespace and nowhere else.
  std::string key;
  friend bool operator==(const Route&, const Route&) = default;
};

// Returns at most one route for each service, in the order of the enum. Empty if the object is broadcast or concerns no
// service.
std::vector<Route> Routes(const kube::v1::Object& object, const RouteOptions& options = {});

// Returns true for objects that go to every replica: queues, priority classes and generic objects.
bool IsBroadcast(const kube::v1::Object& object);

// Reduces `object` to the part that `service` receives. queuesvc receives the identity, queue and phase of a pod group.
void ReduceFor(v1::ServiceKind service, kube::v1::Object& object);
// Whether ReduceFor may change anything for that service.
bool IsReducedFor(v1::ServiceKind service);

// Whether the pod watch of that id would still show the pod, as it was observed last. True for every other watch.
bool MatchesWatch(std::string_view watch, const kube::v1::Object& object);

// Whether a slot of `service` waits for that watch before it is complete.
bool Uses(v1::ServiceKind service, std::string_view watch);

}  // namespace basalt::gateway
