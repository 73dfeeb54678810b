#include "services/pgsvc/core/grouping/inheritance.h"
#include "common/kube/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/yaml.h"
#include "common/kube/text.h"
#include "services/pgsvc/core/grouping/group_name.h"

namespace basalt::pgsvc {

namespace {

// This label and annotation of a pod names a user. It is copied to the pod group.
constexpr std::string_view kUser = "user";
constexpr std::string_view kDefaultQueue = "default-queue";
constexpr std::string_view kPreemptible = "preemptible";
constexpr std::string_view kNonPreemptible = "non-preemptible";
// kubectl's annotation is as long as the object, and contains nothing about its pods (G17). Grouping itself has written
// the others, on a pod that is its own owner.
constexpr std::string_view kLeftOut[] = {"kubectl.kubernetes.io/last-applied-configuration", kube::kKaiGroupNameKey,
                                         kube::kKaiSubGroupNameKey};

std::string LabelOf(ObjectView object, std::string_view key) {
  return fmt::format("label {} of {}", key, object.Described());
}
std::string AnnotationOf(ObjectView object, std::string_view key) {
  return fmt::format("annotation {} of {}", key, object.Described());
}

// ---- queue (5.3) ----

// KAI reads the label alone. Users who come from other schedulers write an annotation.
void WarnOfQueueAnnotation(const RuleInput& input, ObjectView owner, Grouping& grouping) {
  const std::string& key = input.options.queue_label;
  for (const ObjectView object : {owner, input.pod}) {
    const json::string* const annotation = object.Annotation(key);
    if (annotation == nullptr || *annotation == grouping.queue) continue;
    grouping.warnings.push_back(
        fmt::format("{}: annotation {} is not read, but a label of that name is: the queue is {}", object.Described(),
                    key, grouping.queue));
    return;
  }
}

void FindQueue(const RuleInput& input, ObjectView owner, Grouping& grouping) {
  const std::string& key = input.options.queue_label;
  for (const ObjectView object : {owner, input.pod}) {
    if (const json::string* const queue = object.Label(key); queue != nullptr) {
      grouping.queue = std::string(*queue);
      grouping.sources["queue"] = LabelOf(object, key);
      return;
    }
  }
  for (const ObjectView object : {owner, input.pod}) {
    const json::string* const project = object.Label(kProjectLabel);
    if (project != nullptr) return SetQueueOfProject(input, *project, LabelOf(object, kProjectLabel), grouping);
  }
  SetQueueOfProject(input, "", "", grouping);
}

// ---- defaults of kinds (5.4, 5.5) ----

const KindDefaults* DefaultsOf(const RuleOptions& options, ObjectView object) {
  auto found = options.kind_defaults.find(fmt::format("{}.{}", object.kind(), object.group()));
  if (found == options.kind_defaults.end()) found = options.kind_defaults.find(object.kind());
  return found == options.kind_defaults.end() ? nullptr : &found->second;
}

// Returns the objects whose kinds' defaults count, in their order: those that were looked through come first (G30).
std::vector<ObjectView> WithSkipped(const RuleInput& input, const std::vector<ObjectView>& considered) {
  std::vector<ObjectView> all = input.skipped;
  all.insert(all.end(), considered.begin(), considered.end());
  return all;
}

// ---- preemptibility (5.5) ----

void FindPreemptibility(const RuleInput& input, const std::vector<ObjectView>& considered, Grouping& grouping) {
  std::vector<ObjectView> objects = considered;
  objects.push_back(input.pod);
  for (const ObjectView object : objects) {
    const json::string* const text = object.Label(kPreemptibilityLabel);
    if (text == nullptr) continue;
    if (IsPreemptibility(*text)) {
      grouping.preemptibility = std::string(*text);
      grouping.sources["preemptibility"] = LabelOf(object, kPreemptibilityLabel);
      return;
    }
    grouping.warnings.push_back(
        fmt::format("{}: must be {} or {}", LabelOf(object, kPreemptibilityLabel), kPreemptible, kNonPreemptible));
  }
  for (const ObjectView object : WithSkipped(input, considered)) {
    const KindDefaults* const defaults = DefaultsOf(input.options, object);
    if (defaults == nullptr || defaults->preemptibility.empty()) continue;
    const std::string text = absl::AsciiStrToLower(defaults->preemptibility);
    if (!IsPreemptibility(text)) {
      grouping.warnings.push_back(fmt::format("configured default of kind {}: preemptibility must be {} or {}",
                                              object.kind(), kPreemptible, kNonPreemptible));
      continue;
    }
    grouping.preemptibility = text;
    grouping.sources["preemptibility"] = fmt::format("configured default of kind {}", object.kind());
    return;
  }
}

// ---- delay and grace period (5.6) ----

std::string FindDuration(const std::vector<ObjectView>& objects, std::string_view key, Sign sign,
                         std::string_view field, Grouping& grouping) {
  for (const ObjectView object : objects) {
    const json::string* const text = object.Annotation(key);
    if (text == nullptr) continue;
    const std::string source = AnnotationOf(object, key);
    std::optional<std::string> duration = DurationOf(*text, sign, source, grouping.warnings);
    if (!duration) continue;
    grouping.sources[std::string(field)] = source;
    return *std::move(duration);
  }
  return {};
}

}  // namespace

GroupOwner OwnerOf(ObjectView object) {
  return {.api_version = std::string(object.api_version()),
          .kind = std::string(object.kind()),
          .name = std::string(object.name()),
          .uid = std::string(object.uid())};
}

void SetPriority(std::string_view name, const std::string& source, Grouping& grouping) {
  grouping.priority_class = name;
  grouping.sources["priorityClassName"] = source;
  grouping.has_default_priority = false;
}

void SetDefaultPriority(std::string_view name, Grouping& grouping) {
  grouping.priority_class = name;
  grouping.sources["priorityClassName"] = "default of the rule";
  grouping.has_default_priority = true;
}

void FindPriority(const RuleInput& input, const std::vector<ObjectView>& considered, std::string_view otherwise,
                  Grouping& grouping) {
  const auto take = [&](std::string_view name, const std::string& source) {
    if (name.empty()) return false;
    if (!input.cluster.HasPriorityClass(name)) {
      grouping.warnings.push_back(fmt::format("{}: there is no PriorityClass {}", source, name));
      return false;
    }
    SetPriority(name, source, grouping);
    return true;
  };
  for (const ObjectView owner : considered) {
    const json::string* const own = owner.Label(kPriorityClassLabel);
    const json::string* const pods = input.pod.Label(kPriorityClassLabel);
    if (own != nullptr) {
      if (take(*own, LabelOf(owner, kPriorityClassLabel))) return;
    } else if (pods != nullptr) {
      if (take(*pods, LabelOf(input.pod, kPriorityClassLabel))) return;
    } else if (take(input.pod.TextAt({"spec", "priorityClassName"}),
                    fmt::format("spec.priorityClassName of {}", input.pod.Described()))) {
      return;
    }
  }
  for (const ObjectView object : WithSkipped(input, considered)) {
    const KindDefaults* const defaults = DefaultsOf(input.options, object);
    if (defaults == nullptr) continue;
    if (take(defaults->priority_class, fmt::format("configured default of kind {}", object.kind()))) return;
  }
  SetDefaultPriority(otherwise, grouping);
}

std::string DefaultNameOf(ObjectView object) {
  return GroupNameOf(fmt::format("pg-{}-{}", object.name(), object.uid()));
}

void CopyTexts(const json::object* from, Existing existing, std::map<std::string, std::string>& to) {
  if (from == nullptr) return;
  for (const auto& [key, value] : *from) {
    const bool is_left_out =
        std::find(std::begin(kLeftOut), std::end(kLeftOut), std::string_view(key)) != std::end(kLeftOut);
    if (is_left_out || !value.is_string()) continue;
    std::string& text = to.try_emplace(std::string(key), value.get_string()).first->second;
    if (existing == Existing::kOverwritten) text = std::string(value.get_string());
  }
}

bool IsPreemptibility(std::string_view text) { return text.empty() || text == kPreemptible || text == kNonPreemptible; }

std::optional<std::string> DurationOf(std::string_view text, Sign sign, const std::string& source,
                                      std::vector<std::string>& warnings) {
  const absl::StatusOr<absl::Duration> duration = kube::ParseGoDuration(text);
  if (duration.ok() && (sign == Sign::kAny || *duration >= absl::ZeroDuration())) {
    return kube::FormatGoDuration(*duration);
  }
  warnings.push_back(
      fmt::format("{}: must be a duration like 5m or 1h30m{}", source, sign == Sign::kAny ? "" : ", and not negative"));
  return std::nullopt;
}

std::string TopOwnerText(ObjectView object) {
  const auto yaml = [](std::string_view text) { return ToYaml(json::value(text)); };
  return fmt::format("name: {}uid: {}group: {}version: {}kind: {}", yaml(object.name()), yaml(object.uid()),
                     yaml(object.group()), yaml(object.version()), yaml(object.kind()));
}

Topology TopologyOf(ObjectView object) {
  const auto text = [&](std::string_view key) {
    const json::string* const found = object.Annotation(key);
    return found == nullptr ? std::string() : std::string(*found);
  };
  return {text(kTopologyAnnotation), text(kRequiredLevelAnnotation), text(kPreferredLevelAnnotation)};
}

Topology TemplateTopologyOf(const json::value* pod_template) {
  return pod_template == nullptr ? Topology() : TopologyOf(ObjectView(*pod_template));
}

Grouping IdentityFrom(const RuleInput& input, ObjectView owner) {
  Grouping grouping;
  grouping.name = DefaultNameOf(owner);
  grouping.ns = std::string(input.pod.ns());
  grouping.owner = OwnerOf(owner);
  if (const json::string* const user = input.pod.Annotation(kUser); user != nullptr) {
    grouping.annotations[std::string(kUser)] = std::string(*user);
  }
  grouping.annotations[std::string(kube::kKaiTopOwnerKey)] = TopOwnerText(owner);
  CopyTexts(owner.annotations(), Existing::kOverwritten, grouping.annotations);
  if (const json::string* const user = input.pod.Label(kUser); user != nullptr) {
    grouping.labels[std::string(kUser)] = std::string(*user);
  }
  CopyTexts(owner.labels(), Existing::kOverwritten, grouping.labels);
  FindQueue(input, owner, grouping);
  WarnOfQueueAnnotation(input, owner, grouping);
  return grouping;
}

Grouping InheritFrom(const RuleInput& input, ObjectView owner, const std::vector<ObjectView>& considered,
                     std::string_view default_priority) {
  Grouping grouping = IdentityFrom(input, owner);
  FindPriority(input, considered, default_priority, grouping);
  FindPreemptibility(input, considered, grouping);
  std::vector<ObjectView> objects = considered;
  objects.push_back(input.pod);
  grouping.preemption_delay =
      FindDuration(objects, kPreemptionDelayAnnotation, Sign::kNotNegative, "preemptionDelay", grouping);
  grouping.staleness_grace_period =
      FindDuration(objects, kStalenessGraceAnnotation, Sign::kAny, "stalenessGracePeriod", grouping);
  grouping.topology = TopologyOf(owner);
  return grouping;
}

Grouping InheritFromTop(const RuleInput& input, std::string_view default_priority) {
  return InheritFrom(input, input.top, {input.top}, default_priority);
}

Grouping DefaultGrouping(const RuleInput& input) {
  return InheritFrom(input, input.top, input.owners.empty() ? std::vector{input.top} : input.owners, kTrain);
}

void SetQueueOfProject(const RuleInput& input, std::string_view project, std::string source, Grouping& grouping) {
  grouping.has_default_queue = project.empty();
  if (project.empty()) {
    grouping.queue = kDefaultQueue;
    grouping.sources["queue"] = "default";
    return;
  }
  const json::string* const pool = input.pod.Label(input.options.node_pool_label);
  grouping.queue = pool == nullptr ? std::string(project) : fmt::format("{}-{}", project, std::string_view(*pool));
  grouping.sources["queue"] = std::move(source);
}

}  // namespace basalt::pgsvc
