#pragma once

// The part of a group that follows from its owners, its pod and an administrator's defaults (pod-grouper 5): the
// default rule, and its parts for rules that differ from it in some. Pure.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

inline constexpr std::string_view kTrain = "train";
inline constexpr std::string_view kInference = "inference";
inline constexpr std::string_view kBuild = "build";

// This label of an owner, or of a pod, names the project, which is the queue where kai.scheduler/queue is absent.
inline constexpr std::string_view kProjectLabel = "project";
// This label of an owner, or of a pod, names the PriorityClass of the pod group.
inline constexpr std::string_view kPriorityClassLabel = "priorityClassName";
// This label of an owner, or of a pod, says whether the group is preemptible or non-preemptible.
inline constexpr std::string_view kPreemptibilityLabel = "kai.scheduler/preemptibility";
// This annotation of a Job or of a JobSet, or of a template of a JobSet, has the minimum of the group.
inline constexpr std::string_view kMinMemberAnnotation = "kai.scheduler/batch-min-member";
// This annotation has the minimum of a group where kai.scheduler/batch-min-member is absent, and that of the group of a
// StatefulSet with podManagementPolicy Parallel.
inline constexpr std::string_view kShortMinMemberAnnotation = "kai.scheduler/min-member";
// This annotation of an owner, or of a pod template, names the Topology of the group or subgroup.
inline constexpr std::string_view kTopologyAnnotation = "kai.scheduler/topology";
// This annotation of an owner, or of a pod template, names the level of the Topology within which all pods must run.
inline constexpr std::string_view kRequiredLevelAnnotation = "kai.scheduler/topology-required-placement";
// This annotation of an owner, or of a pod template, names the level of the Topology within which the pods should run.
inline constexpr std::string_view kPreferredLevelAnnotation = "kai.scheduler/topology-preferred-placement";
// This annotation of an owner, or of a pod, has the preemptionDelay of the group, such as 5m.
inline constexpr std::string_view kPreemptionDelayAnnotation = "kai.scheduler/preemption-delay";
// This annotation of an owner, or of a pod, has the stalenessGracePeriod of the group, such as 5m.
inline constexpr std::string_view kStalenessGraceAnnotation = "kai.scheduler/staleness-grace-period";

// Returns the group of a pod by the default rule, with `owner` as its owner and as the source of its metadata.
// `considered` are the objects, direct owner first, whose labels and annotations count for priority, preemptibility,
// delay and grace period.
Grouping InheritFrom(const RuleInput& input, ObjectView owner, const std::vector<ObjectView>& considered,
                     std::string_view default_priority);
// Returns only names, owner, labels, annotations and queue.
Grouping IdentityFrom(const RuleInput& input, ObjectView owner);
// Sets the priority class by 5.4; `otherwise` if nothing names one that exists.
void FindPriority(const RuleInput& input, const std::vector<ObjectView>& considered, std::string_view otherwise,
                  Grouping& grouping);
// Sets a class that `source` names, whether the class exists or not.
void SetPriority(std::string_view name, const std::string& source, Grouping& grouping);
// Sets the rule's own class, whatever any object names.
void SetDefaultPriority(std::string_view name, Grouping& grouping);
// Calls InheritFrom with the top owner alone, with which every rule but the default one begins.
Grouping InheritFromTop(const RuleInput& input, std::string_view default_priority = kTrain);
// Applies the default rule itself.
Grouping DefaultGrouping(const RuleInput& input);
// Sets the queue of the project (5.3), or the default queue if `project` is empty. `source` describes where the project
// is named.
void SetQueueOfProject(const RuleInput& input, std::string_view project, std::string source, Grouping& grouping);
GroupOwner OwnerOf(ObjectView object);
// Returns "pg-<name>-<UID>" of the object, as a name of Kubernetes.
std::string DefaultNameOf(ObjectView object);

// Copies texts, which replace existing ones or not. Leaves out kubectl's copy of a whole object (G17).
enum class Existing { kOverwritten, kKept };
void CopyTexts(const json::object* from, Existing existing, std::map<std::string, std::string>& to);

// Whether the text is a value of preemptibility; the empty text means unspecified.
bool IsPreemptibility(std::string_view text);
// Returns Go's canonical form of the annotation's value; nullopt, with a warning, if the value is no duration or a
// negative one where `sign` excludes that. `source` is "annotation <key> of <object>".
enum class Sign { kAny, kNotNegative };
std::optional<std::string> DurationOf(std::string_view text, Sign sign, const std::string& source,
                                      std::vector<std::string>& warnings);

// Returns the texts of the three annotations; each is empty if missing.
Topology TopologyOf(ObjectView object);
// Reads the annotations of a pod template, which may be null.
Topology TemplateTopologyOf(const json::value* pod_template);

// Returns the five lines that identify the top owner.
std::string TopOwnerText(ObjectView object);

}  // namespace basalt::pgsvc
