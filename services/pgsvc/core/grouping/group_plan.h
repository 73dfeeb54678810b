#pragma once

// Makes one group from the groupings of its pods (pod-grouper 13: G4). The order of the pods makes no difference. A
// value. Pure.
#include <set>
#include <string>
#include <string_view>

#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

class GroupPlan {
 public:
  // Adds the grouping of a pod. Requires: the groupings of all pods have one name. Where pods differ, the pod whose
  // name is first in order counts. The group has a subgroup for pods that fit no other as soon as one pod needs it, or
  // names a subgroup that the first pod's group does not have; the latter gives a warning. Warnings are those of all
  // pods, each once.
  void Add(std::string_view pod, Grouping grouping);

  // Adds a pod whose leaf is known already, and which is not the first in order.
  void AddLeaf(const std::string& leaf) { leaves_.insert(leaf); }

  // Returns an empty Grouping if no pod was added. Leaves out the leaf of any single pod.
  Grouping Group(const GroupForm& form = {}) const;
  // The name of the pod that is first in order.
  const std::string& first_pod() const { return first_pod_; }

 private:
  std::string first_pod_;
  Grouping grouping_;             // The grouping of the first pod.
  std::set<std::string> leaves_;  // The leaves of all pods; "" for pods in none.
  std::set<std::string> warnings_;
};

}  // namespace basalt::pgsvc
