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
  // A pod of the group: annotations of Volcano's on it come before what the rules have found.
  ObjectView pod;
  // What one pod counts for, by the leaf that it belongs to; of `pod` under "". An error: it is not known, which is a
  // loss.
  absl::StatusOr<std::map<std::string, kube::ResourceMap>> usage;
  // Whether the priority classes exist that are the rules' own.
  const ClusterView& cluster;
};

struct VolcanoGroup {
  json::object object;
  std::vector<std::string> losses;  // What this form cannot express of the group, for people.
};

VolcanoGroup VolcanoGroupOf(const VolcanoInput& input);

// The least number of pods that can satisfy the group: of a minimum of subgroups the cheapest ones.
int64_t LeastPods(const Grouping& grouping);
// The same as KAI's scheduler reads a group (9.1): where there are subgroups, it looks at these alone, and needs all of
// them unless a minimum of subgroups says otherwise.
int64_t LeastPodsForKai(const Grouping& grouping);

}  // namespace basalt::pgsvc
