#pragma once

// Groups one pod: chooses the rule, and the owner whose rule it is, and completes the rule's group so that a scheduler
// accepts it (pod-grouper 2, 4). Pure.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// This annotation excludes the pods of an object from grouping if it is "true".
inline constexpr std::string_view kOptOutAnnotation = "kai.scheduler/skip-podgrouper";
inline constexpr std::string_view kDefaultSubGroup = "default";

struct PodGrouping {
  enum class Verdict {
    kGrouped,
    kOptedOut,  // The pod or an owner states that somebody else makes the group (2.1).
    kAssigned,  // The pod has no owner, and has a group already (2, step 4).
  };
  Verdict verdict = Verdict::kGrouped;
  std::string decided_by = {};  // "Job default/j": the object that opted out, or whose rule was used.
  std::string rule = {};        // The summary of the rule.
  Grouping grouping = {};       // Complete if kGrouped; else only its warnings count.
  bool follows_kartas = false;  // A Karta that comes or goes changes the result.
  // Set if the Karta for the kind cannot be used. The result is makeshift then: existing groups stay as they are.
  KartaChoice karta = {};
  bool is_makeshift() const { return !karta.problem.empty(); }
};

// `owners` start with the direct one, as OwnersOf returns them. Returns the errors of the rule, and those of its
// result: two subgroups of one name, a minimum below 0, more subgroups than can be stored. `budget` is for this pod
// alone, or shared by several.
absl::StatusOr<PodGrouping> GroupPodByRules(ObjectView pod, const std::vector<ObjectView>& owners,
                                            const ClusterView& cluster, const RuleOptions& options, StepBudget& budget);

// Returns a text like Rule::summary.
std::string SummaryOf(const DeclaredRule& rule);

// Adds a leaf for pods that fit no other one: the scheduler leaves out pods without a leaf. No group waits for pods of
// this leaf (G43).
void AddDefaultSubGroup(Grouping& grouping);

}  // namespace basalt::pgsvc
