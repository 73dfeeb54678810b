#pragma once

// What the controllers of workloads do for one object: the children that they make, change and delete, and what they
// write into its status. The outcome is that of kube-controller-manager, but for what follows. Pure.
//
// Simplified, of all kinds: a child belongs to whom it names as its controller, and nothing is adopted or released; a
// child that is ready is available at once. Of a Job: its pods are counted for as long as they are there, a pod that
// has failed is replaced at once, indices, deadlines and the time to live are not looked at, and nothing says that it
// is suspended. Of a StatefulSet: pods below a partition are made of the newest template, too; ordinals begin at 0; no
// claims are made. Of a ReplicaSet: among pods that are alike the youngest go, wherever they run. Of a Deployment: a
// scaling in a roll is not shared out among the ReplicaSets, Recreate does not wait for pods that are being deleted,
// it makes no progress conditions and does not name its own revision.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/workloads/child.h"

namespace basalt::actors {

// The most children that one plan makes. The next plan, once they are there, makes more.
inline constexpr int64_t kMostCreates = 200;

struct Plan {
  std::vector<json::object> create;                          // Whole children.
  std::vector<std::string> remove;                           // Names of children.
  std::vector<std::pair<std::string, json::object>> change;  // Name, and a JSON merge patch.
  json::object status;                                       // What is to stand in it; null: nothing.
};

// `owner` is whole, and not being deleted; `children` are sorted by name.
using PlanFunction = Plan (*)(const json::value& owner, const std::vector<Child>& children, absl::Time now);

Plan PlanReplicaSet(const json::value& owner, const std::vector<Child>& pods, absl::Time now);
Plan PlanDeployment(const json::value& owner, const std::vector<Child>& replica_sets, absl::Time now);
Plan PlanStatefulSet(const json::value& owner, const std::vector<Child>& pods, absl::Time now);
Plan PlanJob(const json::value& owner, const std::vector<Child>& pods, absl::Time now);

// -- for the plans --

// The owner as its children name it. Its kind is passed, since objects in lists do not say theirs.
json::object ReferenceTo(const json::value& owner, std::string_view api_version, std::string_view kind);
// A pod of spec.template, with these labels beside those of the template. It still lacks a name.
json::object PodOf(const json::value& owner, json::object reference, const json::object& labels);
// A word of 8 letters for the template, in whatever order its members stand.
std::string RevisionOf(const json::value& owner);
// An integer member of the spec.
int64_t SpecInt(const json::value& owner, std::string_view member, int64_t otherwise);
// Null where the count is 0, as an API server leaves such a member out.
json::value CountOrNone(int64_t count);
json::value GenerationOf(const json::value& owner);

}  // namespace basalt::actors
