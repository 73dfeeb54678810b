#pragma once

// The rules of grouping, each for the kinds that its section of pod-grouper 6 names. Pure.
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

absl::StatusOr<Grouping> GroupByDeclaredRule(const RuleInput& input, const DeclaredRule& rule);
absl::StatusOr<Grouping> GroupByDefault(const RuleInput& input);         // 5
absl::StatusOr<Grouping> GroupByDefaultAsBuild(const RuleInput& input);  // 5, priority build
absl::StatusOr<Grouping> GroupByDefaultAsInference(const RuleInput& input);
absl::StatusOr<Grouping> GroupPod(const RuleInput& input);              // 6: bare pods and Spark's
absl::StatusOr<Grouping> GroupDeployment(const RuleInput& input);       // 6: one group for each pod
absl::StatusOr<Grouping> GroupStatefulSet(const RuleInput& input);      // 6, G57
absl::StatusOr<Grouping> GroupAmlJob(const RuleInput& input);           // 6
absl::StatusOr<Grouping> GroupJob(const RuleInput& input);              // 6.1
absl::StatusOr<Grouping> GroupRunaiJob(const RuleInput& input);         // 6.1
absl::StatusOr<Grouping> GroupCronJob(const RuleInput& input);          // 6.2
absl::StatusOr<Grouping> GroupTfJob(const RuleInput& input);            // 6.3
absl::StatusOr<Grouping> GroupXgBoostJob(const RuleInput& input);       // 6.3
absl::StatusOr<Grouping> GroupJaxJob(const RuleInput& input);           // 6.3
absl::StatusOr<Grouping> GroupMpiJob(const RuleInput& input);           // 6.4
absl::StatusOr<Grouping> GroupPyTorchJob(const RuleInput& input);       // 6.5
absl::StatusOr<Grouping> GroupJobSet(const RuleInput& input);           // 6.6
absl::StatusOr<Grouping> GroupLeaderWorkerSet(const RuleInput& input);  // 6.7
absl::StatusOr<Grouping> GroupRayCluster(const RuleInput& input);       // 6.8
absl::StatusOr<Grouping> GroupRayJob(const RuleInput& input);           // 6.8
absl::StatusOr<Grouping> GroupRayService(const RuleInput& input);       // 6.8
absl::StatusOr<Grouping> GroupKnativeService(const RuleInput& input);   // 6.9
absl::StatusOr<Grouping> GroupGrove(const RuleInput& input);            // 6.10

}  // namespace basalt::pgsvc
