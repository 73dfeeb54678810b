#pragma once

// What a rule of grouping is: a function from a pod and its owners to the group that the pod belongs to. What a rule
// needs beside them it asks a ClusterView. Pure: the same input gives the same group.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/object_view.h"
#include "services/pgsvc/core/grouping/step_budget.h"

namespace basalt::pgsvc {

struct Karta;

struct KartaName {
  std::string name;
  std::string uid;
};

// The Karta for a kind (pod-grouper 6.11). Neither of both: there is none.
struct KartaChoice {
  std::shared_ptr<const Karta> karta = nullptr;
  std::string problem = {};              // There is one that cannot be used, or more than one.
  std::vector<KartaName> unusable = {};  // With `problem`: which.
};

// What a cluster has beside the pod and its owners. Answers with an empty view or list what is not there.
class ClusterView {
 public:
  virtual ~ClusterView() = default;
  virtual bool HasPriorityClass(std::string_view name) const = 0;
  // `api_version`: in which the object is asked for.
  virtual ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                          std::string_view name) const = 0;
  // For objects of the kind of `top`.
  virtual KartaChoice KartaFor(ObjectView top) const = 0;
  // PodGroups of KAI's in that namespace whose first owner has that UID.
  virtual std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const = 0;
  // Pods of the namespace that carry all of these labels. A pod is grouped again when one such pod comes, changes or
  // goes: the fewer they are, the better.
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;  // Keys and values.
  virtual std::vector<ObjectView> PodsWithLabels(std::string_view ns, const Labels& labels) const = 0;
};

// What an administrator sets for a kind (pod-grouper 5.4, 5.5).
struct KindDefaults {
  std::string priority_class;
  std::string preemptibility;
};

struct KindName {
  std::string group;
  std::string version;  // "*": every version.
  std::string kind;
  bool IsOf(ObjectView object) const {
    return group == object.group() && kind == object.kind() && (version == "*" || version == object.version());
  }
};

// A rule that an administrator writes: the default rule, with a minimum that stands in a field of the top owner
// (pod-grouper 12, row 16).
struct DeclaredRule {
  KindName kind;
  // Of the first of these fields whose value is above 0; each a path of members. None: 1.
  std::vector<std::vector<std::string>> minimum;
  std::string priority_class;  // Where nobody names one.
};

// What a group can say in the form that the cluster's scheduler reads: releases of KAI's before v0.15 know less
// (pod-grouper 9.4).
struct GroupForm {
  bool has_sub_group_minimum = true;  // How many of its subgroups a group needs.
  bool has_optional_leaves = true;    // A subgroup may need none of its pods.
};

struct RuleOptions {
  std::string queue_label = "kai.scheduler/queue";
  std::string node_pool_label = "kai.scheduler/node-pool";
  bool finds_legacy_groups = true;
  bool gangs_knative_revisions = true;
  bool follows_queue = false;          // A group that is there comes to another queue when its owner's label does.
  bool groups_job_pods_alone = false;  // Each pod of a batch Job has a group of its own, as up to v0.14.
  bool uses_kartas = true;             // For kinds that have no rule of their own.
  bool keeps_named_groups = false;     // A pod with owners that names another group stays in it, as a bare pod does.
  // By "Kind.group", else by "Kind".
  std::map<std::string, KindDefaults, std::less<>> kind_defaults;
  // Rules that come before those of rule_table.h; of two for one kind the first counts.
  std::vector<DeclaredRule> rules;
  // Kinds to look through beside those of rule_table.h.
  std::vector<KindName> looked_through;
  // Not configured: read from the cluster.
  GroupForm form;
};

struct RuleInput {
  ObjectView pod;
  // The object whose rule this is; the pod itself where nobody owns the pod.
  ObjectView top;
  // From the direct owner up to `top`. Empty for a pod without owners.
  std::vector<ObjectView> owners;
  // The owners that were looked through, the nearest first: their kinds' defaults count, too.
  std::vector<ObjectView> skipped;
  const ClusterView& cluster;
  const RuleOptions& options;
  StepBudget& budget;  // For the expressions of a Karta.
};

// INVALID_ARGUMENT names object, field and rule: the pod stays without a group until one of them changes. NOT_FOUND
// names the object that is missing. RESOURCE_EXHAUSTED: the budget is spent.
using RuleFunction = absl::StatusOr<Grouping> (*)(const RuleInput& input);

struct Rule {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  RuleFunction function;
  std::string_view summary;  // For people.
};

}  // namespace basalt::pgsvc
