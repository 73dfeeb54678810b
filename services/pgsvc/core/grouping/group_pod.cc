#include "services/pgsvc/core/grouping/group_pod.h"
#include "common/kube/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/karta/karta_rule.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rule_table.h"
#include "services/pgsvc/core/grouping/rules/rules.h"

namespace basalt::pgsvc {

namespace {

bool OptsOut(ObjectView object) {
  const json::string* const text = object.Annotation(kOptOutAnnotation);
  return text != nullptr && *text == "true";
}

// Adds the texts whose key `to` does not have.
void AddMissing(const json::object* from, json::object& to) {
  if (from == nullptr) return;
  for (const auto& [key, value] : *from) {
    if (!to.contains(key)) to[key] = value;
  }
}

// Copies of objects with the texts that a skipped owner adds. Elements of a deque stay where they are.
using Copies = std::deque<json::value>;

ObjectView Completed(const json::value& object, ObjectView skipped, Copies& copies) {
  json::value& copy = copies.emplace_back(object);
  json::object& metadata = ObjectIn(copy.as_object(), "metadata");
  AddMissing(skipped.labels(), ObjectIn(metadata, "labels"));
  AddMissing(skipped.annotations(), ObjectIn(metadata, "annotations"));
  return ObjectView(copy);
}

// The warning that the row was written for another version of the kind.
std::string OtherVersionOf(ObjectView object, std::string_view version) {
  return fmt::format("{}: there is no rule for {}: the one for version {} is used", object.Described(),
                     object.api_version(), version);
}

bool LooksThrough(ObjectView object, const RuleOptions& options, std::vector<std::string>& warnings) {
  const bool is_configured = std::any_of(options.looked_through.begin(), options.looked_through.end(),
                                         [object](const KindName& kind) { return kind.IsOf(object); });
  const LookThrough* const row = is_configured ? nullptr : LookThroughFor(object.group(), object.kind());
  if (row == nullptr) return is_configured;
  if (row->version != "*" && row->version != object.version()) {
    warnings.push_back(OtherVersionOf(object, row->version));
  }
  return true;
}

// Goes down from the top owner while the owner's kind is looked through (4). The owner below inherits the texts that it
// lacks.
void LookThroughOwners(RuleInput& input, Copies& copies, std::vector<std::string>& warnings) {
  while (!input.owners.empty() && LooksThrough(input.top, input.options, warnings)) {
    const ObjectView skipped = input.top;
    input.skipped.insert(input.skipped.begin(), skipped);
    input.owners.pop_back();
    const ObjectView below = input.owners.empty() ? input.pod : input.owners.back();
    input.top = Completed(below.json(), skipped, copies);
    if (!input.owners.empty()) input.owners.back() = input.top;
  }
}

absl::Status CheckMinimum(const Grouping& grouping, std::string_view what, const Minimum& minimum) {
  if (minimum.count >= 0) return absl::OkStatus();
  return Invalid(fmt::format("{} {}: {}: a minimum of {} is below 0", grouping.owner.kind, grouping.owner.name, what,
                             minimum.count));
}

// Gives subgroups names as the definition requires (G39). The webhook would refuse two subgroups of one name.
absl::Status NameSubGroups(Grouping& grouping) {
  if (grouping.sub_groups.size() > static_cast<size_t>(2 * kMostSubGroups)) {
    return Invalid(fmt::format("{} {}: {} subgroups are more than can be stored", grouping.owner.kind,
                               grouping.owner.name, grouping.sub_groups.size()));
  }
  std::set<std::string> names;
  for (SubGroup& sub_group : grouping.sub_groups) {
    BASALT_RETURN_IF_ERROR(CheckMinimum(grouping, fmt::format("subgroup {}", sub_group.name), sub_group.minimum));
    sub_group.name = SubGroupNameOf(sub_group.name);
    if (!sub_group.parent.empty()) sub_group.parent = SubGroupNameOf(sub_group.parent);
    if (!names.insert(sub_group.name).second) {
      return Invalid(fmt::format("{} {}: two subgroups would have the name {}", grouping.owner.kind,
                                 grouping.owner.name, sub_group.name));
    }
  }
  if (!grouping.pod_sub_group.empty()) grouping.pod_sub_group = SubGroupNameOf(grouping.pod_sub_group);
  return absl::OkStatus();
}

void FindDefaultSubGroup(const RuleInput& input, Grouping& grouping) {
  if (input.options.form.has_optional_leaves) return AddDefaultSubGroup(grouping);
  grouping.warnings.push_back(
      fmt::format("{} belongs to no subgroup: this cluster's scheduler cannot place the pod", input.pod.Described()));
}

// Some rules use a class without a check whether it exists (6.8, 6.10).
void CheckPriority(const RuleInput& input, Grouping& grouping) {
  const std::string& name = grouping.priority_class;
  if (grouping.has_default_priority || name.empty() || input.cluster.HasPriorityClass(name)) return;
  grouping.warnings.push_back(
      fmt::format("{}: there is no PriorityClass {}", grouping.sources["priorityClassName"], name));
}

void CopyNodePool(const RuleInput& input, Grouping& grouping) {
  const std::string& key = input.options.node_pool_label;
  const json::string* const pool = key.empty() ? nullptr : input.pod.Label(key);
  if (pool != nullptr) grouping.labels.try_emplace(key, *pool);
}

absl::Status ApplyRule(const RuleInput& input, PodGrouping& result) {
  for (const DeclaredRule& rule : input.options.rules) {
    if (!rule.kind.IsOf(input.top)) continue;
    result.rule = SummaryOf(rule);
    BASALT_ASSIGN_OR_RETURN(result.grouping, GroupByDeclaredRule(input, rule));
    return absl::OkStatus();
  }
  const RuleChoice row = RuleFor(input.top.group(), input.top.version(), input.top.kind());
  const bool has_own_rule = row.rule->kind != "*" && row.is_of_version;
  const bool asks_kartas = !has_own_rule && input.options.uses_kartas;
  result.follows_kartas = asks_kartas;
  KartaChoice choice = asks_kartas ? input.cluster.KartaFor(input.top) : KartaChoice();
  if (choice.karta != nullptr) {
    result.rule = fmt::format("Karta {}", choice.karta->name);
    BASALT_ASSIGN_OR_RETURN(result.grouping, GroupByKarta(input, *choice.karta));
    return absl::OkStatus();
  }
  result.rule = row.rule->summary;
  BASALT_ASSIGN_OR_RETURN(result.grouping, row.rule->function(input));
  // No warning is needed if the row's rule is the default one.
  if (!row.is_of_version && row.rule->function != GroupByDefault) {
    result.grouping.warnings.push_back(OtherVersionOf(input.top, row.rule->version));
  }
  if (!choice.problem.empty()) {
    result.grouping.warnings.push_back(fmt::format("{}: {} is used: {}", input.top.Described(),
                                                   row.is_of_version ? "the default rule" : "that rule",
                                                   choice.problem));
    result.karta = std::move(choice);
  }
  return absl::OkStatus();
}

}  // namespace

std::string SummaryOf(const DeclaredRule& rule) {
  std::string text = "configured; minimum: ";
  for (const std::vector<std::string>& path : rule.minimum) {
    text += fmt::format("{}, else ", fmt::join(path.begin(), path.end(), "."));
  }
  return text + "1";
}

void AddDefaultSubGroup(Grouping& grouping) {
  const auto is_default = [](const SubGroup& one) { return one.name == kDefaultSubGroup; };
  if (std::any_of(grouping.sub_groups.begin(), grouping.sub_groups.end(), is_default)) return;
  grouping.sub_groups.push_back({.name = std::string(kDefaultSubGroup), .minimum = {.count = 0}});
  if (grouping.minimum.of_sub_groups) ++grouping.minimum.count;
}

absl::StatusOr<PodGrouping> GroupPodByRules(ObjectView pod, const std::vector<ObjectView>& owners,
                                            const ClusterView& cluster, const RuleOptions& options,
                                            StepBudget& budget) {
  using Verdict = PodGrouping::Verdict;
  PodGrouping result;
  if (OptsOut(pod)) return PodGrouping{.verdict = Verdict::kOptedOut, .decided_by = pod.Described()};
  if (pod.owners().empty() && pod.Annotation(kube::kKaiGroupNameKey) != nullptr) {
    return PodGrouping{.verdict = Verdict::kAssigned, .decided_by = pod.Described()};
  }
  for (const ObjectView owner : owners) {
    if (OptsOut(owner)) return PodGrouping{.verdict = Verdict::kOptedOut, .decided_by = owner.Described()};
  }
  Copies copies;
  RuleInput input{.pod = pod,
                  .top = owners.empty() ? pod : owners.back(),
                  .owners = owners,
                  .skipped = {},
                  .cluster = cluster,
                  .options = options,
                  .budget = budget};
  std::vector<std::string> warnings;
  LookThroughOwners(input, copies, warnings);
  result.decided_by = input.top.Described();
  BASALT_RETURN_IF_ERROR(ApplyRule(input, result));
  Grouping& grouping = result.grouping;
  grouping.warnings.insert(grouping.warnings.end(), warnings.begin(), warnings.end());
  BASALT_RETURN_IF_ERROR(CheckMinimum(grouping, "the group", grouping.minimum));
  BASALT_RETURN_IF_ERROR(NameSubGroups(grouping));
  if (!grouping.sub_groups.empty() && grouping.pod_sub_group.empty()) FindDefaultSubGroup(input, grouping);
  CopyNodePool(input, grouping);
  CheckPriority(input, grouping);
  return result;
}

}  // namespace basalt::pgsvc
