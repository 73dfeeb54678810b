#pragma once

// Decides by the rules of all kinds (core/grouping) to which group a pod belongs, and how a group has to be, in the
// form of one scheduler (core/form). The answers follow from the state of the pod's namespace, from the priority
// classes and Kartas of the cluster, and from nothing else. Confined to the worker's loop.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/control/namespaces/namespace_state.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

class PodGrouper {
 public:
  // How many pods a pass groups at most. The next pass goes on, and other keys have their turn before.
  static constexpr size_t kPodsPerPass = 200;
  // After so many steps of Kartas' expressions a pass groups no further pod, and serves no further group.
  static constexpr int64_t kStepsPerPass = 200'000;

  // `queues` are Volcano's, and outlive this object.
  PodGrouper(RuleOptions rules, const QueueIndex& queues, std::unique_ptr<GroupEmitter> emitter);

  const GroupEmitter& emitter() const { return *emitter_; }

  // ---- what the cluster has ----
  // Takes the cluster's definition of groups; null if there is none. Returns whether groups get another form.
  bool TakeDefinition(const json::value* definition);
  // Each returns the facts that have changed.
  std::set<std::string> TakePriorityClass(const kube::v1::PriorityClass& priority_class, bool gone);
  std::set<std::string> TakeKarta(std::string_view name, const json::value* karta);  // Null if the Karta is gone.
  // Returns the value of a priority class; nullopt if there is no such class.
  std::optional<int32_t> FindPriority(std::string_view name) const;

  // ---- the steps of a pass ----
  void BeginPass() { steps_ = 0; }
  bool HasSteps() const { return steps_ < kStepsPerPass; }

  // ---- pods ----
  // The result of the rules for a pod.
  struct Found {
    absl::StatusOr<PodGrouping> grouping = PodGrouping();
    std::set<std::string> facts;         // The facts by which the pod was grouped.
    bool is_waiting = false;             // Whether a fact was not reported yet.
    std::vector<std::string> owners;     // Descriptions for people, the direct owner first; set for Describe::kOwners.
    std::vector<std::string> waits_for;  // The facts that were not reported yet.
    std::vector<std::string> unreadable;
    // The group that the rules would make for the pod, if it names another group and stays with that name.
    std::optional<Grouping> alone;
  };
  enum class Describe { kNothing, kOwners };
  Found FindGrouping(NamespaceState& space, const kube::v1::Pod& pod, StepBudget& budget,
                     Describe describe = Describe::kNothing) const;
  // Does the same, and counts the steps of the pass.
  Found FindNow(NamespaceState& space, const kube::v1::Pod& pod);
  // Returns the patch that links the pod to the group; nullopt if nothing has to be written.
  std::optional<std::string> LinkOf(const kube::v1::Pod& pod, std::string_view name, const GroupState& group,
                                    const GroupState::Member& member) const;
  // Whether the pod names its group, and its subgroup if the group has that one.
  bool IsLinked(const NamespaceState& space, const std::string& uid) const;

  // ---- groups ----
  // Returns the group as the rules make it for its members. Nullopt if the rules cannot decide now, or not within the
  // budget, which all tried members share.
  std::optional<GroupPlanOfPods> PlanOf(NamespaceState& space, const GroupState& group, StepBudget& budget) const;
  // Does the same for a group that this pass serves, and counts the steps of the pass.
  std::optional<GroupPlanOfPods> PlanNow(NamespaceState& space, const GroupState& group);
  RenderedGroup Render(NamespaceState& space, const GroupPlanOfPods& plan) const;
  // Returns the body that creates the group `name`, whose owner is not known any more, for the pod and the others that
  // name the group. Nullopt if the rules would make no other group for the pod.
  std::optional<json::object> OwnerlessObjectFor(NamespaceState& space, const kube::v1::Pod& pod,
                                                 const std::string& name);
  // Whether we delete the group once it has no pods: rules have made it, and nobody else deletes it. Its form drops
  // empty groups, or it has no owner with which Kubernetes would collect it, because its owner has left its pods
  // behind.
  bool GoesWithItsPods(const ObservedGroup& group) const;
  // Whether the pods that name the group are all over, and their owner wants no others: it is suspended or scaled to
  // zero.
  bool AreOverForGood(NamespaceState& space, const std::string& name, const GroupState& group) const;
  // Returns why the queue of the group, which exists, places nothing; empty if nothing known prevents it. Adds the
  // facts that the answer depends on.
  std::string WhyQueuePlacesNothing(NamespaceState& space, const ObservedGroup& observed,
                                    Dependents::Facts& facts) const;

 private:
  // Whether the pod stays in the group that it names, although the result of the rules, `found`, is another group.
  bool StaysInItsGroup(const NamespaceState& space, const kube::v1::Pod& pod, const PodGrouping& found) const;

  RuleOptions rules_;
  const QueueIndex& queues_;
  const std::unique_ptr<GroupEmitter> emitter_;
  PriorityClasses priority_classes_;
  KartaSet kartas_;
  int64_t steps_ = 0;  // The steps of Kartas' expressions in the present pass.
};

}  // namespace basalt::pgsvc
