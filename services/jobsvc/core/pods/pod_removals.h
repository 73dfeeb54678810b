#pragma once

// The pods of a job that its rules take away (job spec 9.5): those still to be marked, those to be deleted, and whether
// a kill of named pods is over. Follows every change at the cost of one step in a tree. Pure.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class PodRemovals {
 public:
  void Clear() { *this = PodRemovals(); }
  // Adds the pod, or takes it away as it was added: with the same entry and rules.
  void Contribute(std::string_view name, PodIndex place, const PodEntry& entry, const PodRules& rules, bool add);

  // Returns whether no pod is to be marked or deleted.
  bool empty() const { return to_mark_.empty() && to_delete_.empty(); }
  // Names of pods to be marked out-of-sync before their deletion (targets, surplus).
  const std::set<std::string>& to_mark() const { return to_mark_; }
  // Names of pods to be deleted.
  const std::set<std::string>& to_delete() const { return to_delete_; }
  bool HasTargetsLeft() const { return targets_left_ > 0; }
  // Returns whether a foreign pod carries the label by which the job's own pods are deleted together.
  bool HasForeignLabelled() const { return foreign_labelled_ > 0; }

 private:
  std::set<std::string> to_mark_;
  std::set<std::string> to_delete_;
  int32_t targets_left_ = 0;
  int32_t foreign_labelled_ = 0;
};

}  // namespace basalt::jobsvc
