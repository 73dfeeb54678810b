#pragma once

// A group as the Volcano scheduler reads it: scheduling.volcano.sh/v1beta1 PodGroup, by the rules of all kinds
// (pod-grouper 11, the rich profile). Pure.
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/kube/resources/resources.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

struct VolcanoInput {
  const Grouping& grouping;
  // A pod of the group. Volcano's annotations on it come before the result of the rules.
  ObjectView pod;
  // The resources of one pod, by its leaf, and those of `pod` under "". An error means that they are not known, which
  // is a loss.
  absl::StatusOr<std::map<std::string, kube::ResourceMap>> usage;
  // Knows whether the rules' own priority classes exist.
  const ClusterView& cluster;
};

struct VolcanoGroup {
  json::object object;
  std::vector<std::string> losses;  // Texts for people about what the form cannot express.
};

VolcanoGroup VolcanoGroupOf(const VolcanoInput& input);

// Returns the least number of pods that can satisfy the group: for a minimum of subgroups, those of the cheapest ones.
int64_t LeastPods(const Grouping& grouping);
// Returns the same as KAI's scheduler reads a group (9.1): if there are subgroups, it reads these alone, and needs all
// of them unless a minimum of subgroups requires fewer.
int64_t LeastPodsForKai(const Grouping& grouping);

}  // namespace basalt::pgsvc
