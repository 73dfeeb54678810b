#pragma once

// The plans of the controllers of workloads for one object: the children that are made, changed and deleted, and the
// status that is written. The outcome is that of kube-controller-manager, but for these simplifications. Pure.
//
// All kinds: a child belongs to the owner that it names as its controller; nothing is adopted or released. A child that
// is ready is available at once.
// Job: pods are counted only while they exist. A failed pod is replaced at once. Indices, deadlines and the time to
// live are ignored. The status does not state that a Job is suspended. StatefulSet: pods below a partition are made of
// the newest template, too. Ordinals begin at 0. No claims are made. ReplicaSet: among pods that are alike the youngest
// are deleted, wherever they run. Deployment: a new template replaces all pods at once: the ReplicaSet of the
// template has all replicas, and the others, which are kept, have none. The strategy, pauses and the limit of the
// history are ignored. There are no conditions, and nothing names a revision.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/workloads/child.h"

namespace basalt::actors {

// The most children that one plan makes. The next plan, once these children exist, makes more.
inline constexpr int64_t kMostCreates = 200;

struct Plan {
  std::vector<json::object> create;                          // Whole children.
  std::vector<std::string> remove;                           // Names of children.
  std::vector<std::pair<std::string, json::object>> change;  // The name of a child, and a JSON merge patch.
  json::object status;  // The members that the status is to have. A null means that the member is to be absent.
};

// `owner` is the whole object and is not being deleted. `children` are sorted by name.
using PlanFunction = Plan (*)(const json::value& owner, const std::vector<Child>& children, absl::Time now);

Plan PlanReplicaSet(const json::value& owner, const std::vector<Child>& pods, absl::Time now);
Plan PlanDeployment(const json::value& owner, const std::vector<Child>& replica_sets, absl::Time now);
Plan PlanStatefulSet(const json::value& owner, const std::vector<Child>& pods, absl::Time now);
Plan PlanJob(const json::value& owner, const std::vector<Child>& pods, absl::Time now);

// -- for the plans --

// Returns the owner reference for children. The kind is a parameter, since objects in lists do not state their kinds.
json::object ReferenceTo(const json::value& owner, std::string_view api_version, std::string_view kind);
// Returns a pod of spec.template, with these labels beside those of the template. The pod still lacks a name.
json::object PodOf(const json::value& owner, json::object reference, const json::object& labels);
// Returns a hash of 8 letters of the template. The order of the template's members does not matter.
std::string RevisionOf(const json::value& owner);
// Returns an integer member of the spec.
int64_t SpecInt(const json::value& owner, std::string_view member, int64_t otherwise);
// Returns the count, or null if it is 0, since an API server leaves such a member out.
json::value CountOrNone(int64_t count);
json::value GenerationOf(const json::value& owner);

}  // namespace basalt::actors
