#pragma once

// One group from what grouping finds for each of its pods (pod-grouper 13: G4). Which pod comes first makes no
// difference. A value. Pure.
#include <set>
#include <string>
#include <string_view>

#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

class GroupPlan {
 public:
  // Requires: the groupings of all pods have one name. What pods differ in is taken from the pod whose name is the
  // first in order. A subgroup for pods that fit no other is there as soon as one pod needs it, or is in a subgroup
  // that the first pod's group does not have, of which there is a warning. Warnings are those of all pods, each once.
  void Add(std::string_view pod, Grouping grouping);

  // The same of a pod of which it is known already to which leaf it belongs, and that it is not the first.
  void AddLeaf(const std::string& leaf) { leaves_.insert(leaf); }

  // Of no pods: an empty group. The group says of no pod where it belongs.
  Grouping Group(const GroupForm& form = {}) const;
  // The name of the first pod in order.
  const std::string& first_pod() const { return first_pod_; }

 private:
  std::string first_pod_;
  Grouping grouping_;             // Of the first pod.
  std::set<std::string> leaves_;  // Those that pods belong to; "": none.
  std::set<std::string> warnings_;
};

}  // namespace basalt::pgsvc
