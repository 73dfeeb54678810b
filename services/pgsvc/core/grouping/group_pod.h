#pragma once

// The grouping of one pod: which rule of all, of which owner, and what the rule's group still needs so that a scheduler
// takes it (pod-grouper 2, 4). Pure.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

inline constexpr std::string_view kOptOutAnnotation = "kai.scheduler/skip-podgrouper";
inline constexpr std::string_view kDefaultSubGroup = "default";

struct PodGrouping {
  enum class Verdict {
    kGrouped,
    kOptedOut,  // The pod or an owner says that somebody else makes the group (2.1).
    kAssigned,  // Nobody owns the pod, and it has a group already (2, step 4).
  };
  Verdict verdict = Verdict::kGrouped;
  std::string decided_by = {};  // "Job default/j"; of whoever opted out, or whose rule was used.
  std::string rule = {};        // The summary of the rule.
  Grouping grouping = {};       // Of kGrouped; of others the warnings alone.
  bool follows_kartas = false;  // A Karta that comes or goes changes it.
  KartaChoice karta = {};       // One that cannot be used would say it: groups that are there stay.
  bool is_makeshift() const { return !karta.problem.empty(); }
};

// `owners`: from the direct one up, as OwnersOf finds them. Errors are those of a rule, or of its result: two subgroups
// of one name, a minimum below 0, more subgroups than can be stored. `budget` is that of this pod, or one that several
// share.
absl::StatusOr<PodGrouping> GroupPodByRules(ObjectView pod, const std::vector<ObjectView>& owners,
                                            const ClusterView& cluster, const RuleOptions& options, StepBudget& budget);

// As Rule::summary.
std::string SummaryOf(const DeclaredRule& rule);

// Adds a leaf for pods that fit no other one, since the scheduler leaves such pods out. Nobody waits for its pods
// (G43).
void AddDefaultSubGroup(Grouping& grouping);

}  // namespace basalt::pgsvc
