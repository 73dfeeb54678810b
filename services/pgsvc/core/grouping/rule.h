#pragma once

// Rules of grouping: functions from a pod and its owners to the group that the pod belongs to. A rule reads everything
// else from a ClusterView. Pure: the same input gives the same group.
//
// A rule sees less of an owner than the API server has: gateway/translate/owner.cc cuts containers, env and other large
// parts of the spec, long texts, and most of the status. A rule that reads a field that is cut passes its unit tests,
// which read whole manifests, and finds nothing in a cluster. docs/recipes/grouping-rule.md has the steps for a rule.
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

// The Karta for a kind (pod-grouper 6.11). Both `karta` and `problem` are empty if there is none.
struct KartaChoice {
  std::shared_ptr<const Karta> karta = nullptr;
  std::string problem = {};              // Set if there is one that cannot be used, or more than one.
  std::vector<KartaName> unusable = {};  // The Kartas that `problem` is about.
};

// The objects of a cluster beside the pod and its owners. Methods return an empty view or list for missing objects.
class ClusterView {
 public:
  virtual ~ClusterView() = default;
  virtual bool HasPriorityClass(std::string_view name) const = 0;
  // `api_version` is the one in which the object is read.
  virtual ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                          std::string_view name) const = 0;
  // Returns the Karta for objects of the kind of `top`.
  virtual KartaChoice KartaFor(ObjectView top) const = 0;
  // Returns the PodGroups of KAI's in the namespace whose first owner has that UID.
  virtual std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const = 0;
  // Returns the pods of the namespace that have all of these labels. A pod is grouped again when such a pod comes,
  // changes or goes: labels should match few pods.
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;  // Keys and values.
  virtual std::vector<ObjectView> PodsWithLabels(std::string_view ns, const Labels& labels) const = 0;
};

// Defaults that an administrator sets for a kind (pod-grouper 5.4, 5.5).
struct KindDefaults {
  std::string priority_class;
  std::string preemptibility;
};

struct KindName {
  std::string group;
  std::string version;  // "*" for every version.
  std::string kind;
  bool IsOf(ObjectView object) const {
    return group == object.group() && kind == object.kind() && (version == "*" || version == object.version());
  }
};

// A rule that an administrator writes: the default rule, with a minimum from a field of the top owner (pod-grouper 12,
// row 16).
struct DeclaredRule {
  KindName kind;
  // The minimum is the first value above 0 of these fields, each a path of members; 1 if there is none.
  std::vector<std::vector<std::string>> minimum;
  std::string priority_class;  // Used if nothing names another.
};

// Properties of the form that the cluster's scheduler reads: releases of KAI's before v0.15 know less
// (pod-grouper 9.4).
struct GroupForm {
  bool has_sub_group_minimum = true;  // A group may state how many of its subgroups it needs.
  bool has_optional_leaves = true;    // A subgroup may need none of its pods.
};

struct RuleOptions {
  // This label of an owner, or of a pod, names the queue of the pod group. A file of --grouping_config can name another
  // label.
  std::string queue_label = "kai.scheduler/queue";
  // This label of a pod names its node pool. It is appended to the queue that the label project names. A file of
  // --grouping_config can name another label.
  std::string node_pool_label = "kai.scheduler/node-pool";
  bool finds_legacy_groups = true;
  bool gangs_knative_revisions = true;
  bool follows_queue = false;          // An existing group moves to another queue with its owner's label.
  bool groups_job_pods_alone = false;  // Each pod of a batch Job gets its own group, as up to v0.14.
  bool uses_kartas = true;             // For kinds that have no rule of their own.
  bool keeps_named_groups = false;     // A pod with owners that names another group stays in it, as a bare pod does.
  // Keyed by "Kind.group", else by "Kind".
  std::map<std::string, KindDefaults, std::less<>> kind_defaults;
  // Rules that come before those of rule_table.h. The first one of two for one kind counts.
  std::vector<DeclaredRule> rules;
  // Kinds that are looked through, beside those of rule_table.h.
  std::vector<KindName> looked_through;
  // Read from the cluster, not configured.
  GroupForm form;
};

struct RuleInput {
  ObjectView pod;
  // The object whose rule applies; the pod itself if it has no owner.
  ObjectView top;
  // The owners from the direct one up to `top`; empty for a pod without owners.
  std::vector<ObjectView> owners;
  // The owners that were looked through, nearest first: the defaults of their kinds count, too.
  std::vector<ObjectView> skipped;
  const ClusterView& cluster;
  const RuleOptions& options;
  StepBudget& budget;  // For the expressions of a Karta.
};

// INVALID_ARGUMENT names object, field and rule: the pod has no group until one of them changes. NOT_FOUND names the
// missing object. RESOURCE_EXHAUSTED if the budget is spent.
using RuleFunction = absl::StatusOr<Grouping> (*)(const RuleInput& input);

struct Rule {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  RuleFunction function;
  std::string_view summary;  // For people.
};

}  // namespace basalt::pgsvc
