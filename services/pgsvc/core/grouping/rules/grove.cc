// Grove (pod-grouper 6.10): the PodGang determines how its pods are grouped.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/rules/rules.h"

namespace basalt::pgsvc {

namespace {

// This label of a pod names its PodGang, from which the group is made.
constexpr std::string_view kPodGangLabel = "grove.io/podgang";
constexpr std::string_view kPodGangApiVersion = "scheduler.grove.io/v1alpha1";
// This annotation of a PodGang names the Topology of the group. It comes before kai.scheduler/topology.
constexpr std::string_view kTopologyNameAnnotation = "grove.io/topology-name";

struct PodSet {
  std::string name;
  int32_t minimum = 0;
  Topology topology = {};
  bool holds_pod = false;
};

struct Config {
  std::string name;
  Topology topology = {};
  std::vector<std::string> sets = {};
};

std::string_view TopologyNameOf(ObjectView gang) {
  for (const std::string_view key : {kTopologyNameAnnotation, kTopologyAnnotation}) {
    const json::string* const name = gang.Annotation(key);
    if (name != nullptr && !name->empty()) return *name;
  }
  return {};
}

// `place` is an object of the gang that may have a constraint. Messages call it `where`.
absl::StatusOr<Topology> ConstraintOf(ObjectView gang, std::string_view where, const json::value& place) {
  const json::value* const constraint = FindPath(place, {"topologyConstraint", "packConstraint"});
  if (constraint == nullptr) return Topology();
  const std::string_view preferred = FindString(*constraint, "preferred");
  const std::string_view required = FindString(*constraint, "required");
  if (preferred.empty() && required.empty()) return Topology();
  const std::string_view name = TopologyNameOf(gang);
  if (name.empty()) {
    return Invalid(fmt::format("{}: {}.topologyConstraint: needs annotation {}", gang.Described(), where,
                               kTopologyNameAnnotation));
  }
  return Topology{std::string(name), std::string(required), std::string(preferred)};
}

absl::StatusOr<PodSet> PodSetOf(ObjectView gang, ObjectView pod, const json::value& entry, size_t index) {
  const std::string place = fmt::format("spec.podgroups[{}]", index);
  const std::string where = fmt::format("{}: {}", gang.Described(), place);
  const ObjectView set(entry, where);
  const auto bad = [&](std::string_view field, std::string_view rule) {
    return Invalid(fmt::format("{}.{}: {}", where, field, rule));
  };
  PodSet read{.name = std::string(set.TextAt({"name"}))};
  if (read.name.empty()) return bad("name", "is required");
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> minimum, set.IntAt({"minReplicas"}));
  if (!minimum || *minimum <= 0) return bad("minReplicas", "must be at least 1");
  read.minimum = *minimum;
  const json::value* const references = set.At({"podReferences"});
  if (references == nullptr || !references->is_array()) return bad("podReferences", "is required");
  for (const json::value& reference : references->get_array()) {
    const std::string_view ns = FindString(reference, "namespace");
    const std::string_view name = FindString(reference, "name");
    if (ns.empty() || name.empty()) return bad("podReferences", "each one must have a namespace and a name");
    if (ns != gang.ns()) return bad("podReferences", fmt::format("{}/{} is in another namespace", ns, name));
    if (ns == pod.ns() && name == pod.name()) read.holds_pod = true;
  }
  BASALT_ASSIGN_OR_RETURN(read.topology, ConstraintOf(gang, place, entry));
  return read;
}

// Returns the list of that name; null if there is none.
absl::StatusOr<const json::array*> ListIn(ObjectView gang, std::string_view name) {
  const json::value* const list = gang.At({"spec", name});
  if (list == nullptr) return nullptr;
  if (list->is_array()) return &list->get_array();
  return Invalid(fmt::format("{}: spec.{}: must be a list", gang.Described(), name));
}

absl::StatusOr<std::vector<PodSet>> PodSetsOf(ObjectView gang, ObjectView pod) {
  std::vector<PodSet> sets;
  BASALT_ASSIGN_OR_RETURN(const json::array* const list, ListIn(gang, "podgroups"));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(PodSet set, PodSetOf(gang, pod, (*list)[i], i));
    sets.push_back(std::move(set));
  }
  return sets;
}

// Returns the texts of the list; nothing if there is no list.
absl::StatusOr<std::vector<std::string>> TextsIn(const json::value* list, std::string_view where) {
  std::vector<std::string> texts;
  if (list == nullptr || list->is_null()) return texts;
  const json::array* const entries = list->if_array();
  const auto is_text = [](const json::value& entry) { return entry.is_string(); };
  if (entries == nullptr || !std::all_of(entries->begin(), entries->end(), is_text)) {
    return Invalid(fmt::format("{}: must be a list of texts", where));
  }
  for (const json::value& entry : *entries) texts.emplace_back(entry.get_string());
  return texts;
}

absl::StatusOr<std::vector<Config>> ConfigsOf(ObjectView gang) {
  std::vector<Config> configs;
  BASALT_ASSIGN_OR_RETURN(const json::array* const list, ListIn(gang, "topologyConstraintGroupConfigs"));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const json::value& entry = (*list)[i];
    const std::string where = fmt::format("spec.topologyConstraintGroupConfigs[{}]", i);
    Config config{.name = std::string(FindString(entry, "name"))};
    if (config.name.empty()) return Invalid(fmt::format("{}: {}.name: is required", gang.Described(), where));
    BASALT_ASSIGN_OR_RETURN(config.sets, TextsIn(Find(entry, "podGroupNames"),
                                                 fmt::format("{}: {}.podGroupNames", gang.Described(), where)));
    if (config.sets.empty()) continue;
    BASALT_ASSIGN_OR_RETURN(config.topology, ConstraintOf(gang, where, entry));
    configs.push_back(std::move(config));
  }
  return configs;
}

// Adds the parents that have a child (G45), then the sets of pods.
absl::Status AddSubGroups(ObjectView gang, const std::vector<Config>& configs, const std::vector<PodSet>& sets,
                          Grouping& grouping) {
  std::map<std::string, std::string, std::less<>> parents;
  for (const Config& config : configs) {
    for (const std::string& name : config.sets) parents.insert_or_assign(name, config.name);
  }
  std::map<std::string, int32_t, std::less<>> children;
  for (const PodSet& set : sets) {
    if (const auto parent = parents.find(set.name); parent != parents.end()) ++children[parent->second];
  }
  for (const Config& config : configs) {
    const auto count = children.find(config.name);
    if (count == children.end()) continue;
    grouping.sub_groups.push_back(
        {.name = config.name, .minimum = {.count = count->second, .of_sub_groups = true}, .topology = config.topology});
  }
  int64_t sum = 0;
  for (const PodSet& set : sets) {
    const auto parent = parents.find(set.name);
    sum += set.minimum;
    grouping.sub_groups.push_back({.name = set.name,
                                   .parent = parent == parents.end() ? std::string() : parent->second,
                                   .minimum = {.count = set.minimum},
                                   .topology = set.topology});
    if (set.holds_pod && grouping.pod_sub_group.empty()) grouping.pod_sub_group = set.name;
  }
  if (sum > INT32_MAX) {
    return Invalid(fmt::format("{}: spec.podgroups: have more pods than can be counted", gang.Described()));
  }
  grouping.minimum = {.count = static_cast<int32_t>(sum)};
  return absl::OkStatus();
}

const std::string* TextIn(const std::map<std::string, std::string>& texts, std::string_view key) {
  const auto found = texts.find(std::string(key));
  return found == texts.end() ? nullptr : &found->second;
}

// Returns where a merged text came from.
std::string SourceOf(ObjectView top, ObjectView gang, std::string_view what, std::string_view key) {
  const bool is_gangs = gang.Label(key) != nullptr || gang.Annotation(key) != nullptr;
  return fmt::format("{} {} of {}", what, key, (is_gangs ? gang : top).Described());
}

// A duration in the merged annotations replaces the pod's (G46: the grace period as well as the delay).
void TakeDuration(const std::string& source, std::string_view key, Sign sign, std::string_view field,
                  std::string& duration, Grouping& merged) {
  const std::string* const text = TextIn(merged.annotations, key);
  if (text == nullptr) return;
  std::vector<std::string> warnings;
  std::optional<std::string> read = DurationOf(*text, sign, source, warnings);
  if (read) {
    duration = *std::move(read);
    merged.sources[std::string(field)] = source;
  }
  for (std::string& warning : warnings) {
    // The gang's own annotation has given this warning before.
    const bool is_known = std::find(merged.warnings.begin(), merged.warnings.end(), warning) != merged.warnings.end();
    if (!is_known) merged.warnings.push_back(std::move(warning));
  }
}

// Applies the labels and annotations of the gang, and those of the top owner whose keys the gang does not have.
absl::Status TakeMerged(const RuleInput& input, ObjectView gang, Grouping& grouping) {
  const auto source = [&](std::string_view what, std::string_view key) { return SourceOf(input.top, gang, what, key); };
  CopyTexts(input.top.labels(), Existing::kKept, grouping.labels);
  CopyTexts(input.top.annotations(), Existing::kKept, grouping.annotations);
  // G15: a queue counts even if only the owner names it.
  if (const std::string* const queue = TextIn(grouping.labels, input.options.queue_label); queue != nullptr) {
    grouping.queue = *queue;
    grouping.has_default_queue = false;
    grouping.sources["queue"] = source("label", input.options.queue_label);
  } else if (const std::string* const project = TextIn(grouping.labels, kProjectLabel);
             project != nullptr && input.pod.Label(input.options.queue_label) == nullptr) {
    SetQueueOfProject(input, *project, source("label", kProjectLabel), grouping);
  }
  if (const std::string* const priority = TextIn(grouping.labels, kPriorityClassLabel); priority != nullptr) {
    SetPriority(*priority, source("label", kPriorityClassLabel), grouping);
  }
  if (const std::string* const text = TextIn(grouping.labels, kPreemptibilityLabel); text != nullptr) {
    if (!IsPreemptibility(*text)) {
      return Invalid(fmt::format("{}: {} must be preemptible or non-preemptible", source("label", kPreemptibilityLabel),
                                 Excerpt(*text)));
    }
    grouping.preemptibility = *text;
    grouping.sources["preemptibility"] = source("label", kPreemptibilityLabel);
  }
  TakeDuration(source("annotation", kPreemptionDelayAnnotation), kPreemptionDelayAnnotation, Sign::kNotNegative,
               "preemptionDelay", grouping.preemption_delay, grouping);
  TakeDuration(source("annotation", kStalenessGraceAnnotation), kStalenessGraceAnnotation, Sign::kAny,
               "stalenessGracePeriod", grouping.staleness_grace_period, grouping);
  const std::pair<std::string_view, std::string*> triple[] = {
      {kTopologyAnnotation, &grouping.topology.name},
      {kRequiredLevelAnnotation, &grouping.topology.required},
      {kPreferredLevelAnnotation, &grouping.topology.preferred}};
  for (const auto& [key, field] : triple) {
    const std::string* const text = TextIn(grouping.annotations, key);
    if (field->empty() && text != nullptr) *field = *text;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Grouping> GroupGrove(const RuleInput& input) {
  const json::string* const name = input.pod.Label(kPodGangLabel);
  if (name == nullptr || name->empty()) {
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kPodGangLabel));
  }
  const ObjectView gang = input.cluster.Find(kPodGangApiVersion, "PodGang", input.pod.ns(), *name);
  if (gang.empty()) {
    return absl::NotFoundError(fmt::format("PodGang {}/{} does not exist", input.pod.ns(), std::string_view(*name)));
  }
  Grouping grouping = InheritFrom(input, gang, {gang}, kTrain);
  const json::value* const spec = gang.At({"spec"});
  if (spec != nullptr) {
    BASALT_ASSIGN_OR_RETURN(Topology topology, ConstraintOf(gang, "spec", *spec));
    if (topology.has_level()) grouping.topology = std::move(topology);
  }
  if (const std::string_view priority = gang.TextAt({"spec", "priorityClassName"}); !priority.empty()) {
    SetPriority(priority, fmt::format("spec.priorityClassName of {}", gang.Described()), grouping);
  }
  BASALT_RETURN_IF_ERROR(TakeMerged(input, gang, grouping));
  BASALT_ASSIGN_OR_RETURN(const std::vector<Config> configs, ConfigsOf(gang));
  BASALT_ASSIGN_OR_RETURN(const std::vector<PodSet> sets, PodSetsOf(gang, input.pod));
  BASALT_RETURN_IF_ERROR(AddSubGroups(gang, configs, sets, grouping));
  return grouping;
}

}  // namespace basalt::pgsvc
