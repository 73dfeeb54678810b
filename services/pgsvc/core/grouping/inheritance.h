#pragma once

// What a group takes from its owners, its pod and an administrator's defaults (pod-grouper 5): the default
// rule, and its parts for rules that differ from it in some. Pure.
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

inline constexpr std::string_view kProjectLabel = "project";
inline constexpr std::string_view kPriorityClassLabel = "priorityClassName";
inline constexpr std::string_view kPreemptibilityLabel = "kai.scheduler/preemptibility";
inline constexpr std::string_view kMinMemberAnnotation = "kai.scheduler/batch-min-member";
inline constexpr std::string_view kShortMinMemberAnnotation = "kai.scheduler/min-member";
inline constexpr std::string_view kTopologyAnnotation = "kai.scheduler/topology";
inline constexpr std::string_view kRequiredLevelAnnotation = "kai.scheduler/topology-required-placement";
inline constexpr std::string_view kPreferredLevelAnnotation = "kai.scheduler/topology-preferred-placement";
inline constexpr std::string_view kPreemptionDelayAnnotation = "kai.scheduler/preemption-delay";
inline constexpr std::string_view kStalenessGraceAnnotation = "kai.scheduler/staleness-grace-period";

// The group of a pod by the default rule, with `owner` as its owner and the source of its metadata. `considered`: the
// objects, direct owner first, whose labels and annotations count for priority, preemptibility, delay and grace period.
Grouping InheritFrom(const RuleInput& input, ObjectView owner, const std::vector<ObjectView>& considered,
                     std::string_view default_priority);
// The same without what further objects say: names, owner, labels, annotations and queue alone.
Grouping IdentityFrom(const RuleInput& input, ObjectView owner);
// Sets the priority class by 5.4; `otherwise` where nobody names one that exists.
void FindPriority(const RuleInput& input, const std::vector<ObjectView>& considered, std::string_view otherwise,
                  Grouping& grouping);
// Sets a class that `source` names, whether the class exists or not.
void SetPriority(std::string_view name, const std::string& source, Grouping& grouping);
// Sets the rule's own class, whatever anybody says.
void SetDefaultPriority(std::string_view name, Grouping& grouping);
// InheritFrom the top owner alone: what every rule but the default one begins with.
Grouping InheritFromTop(const RuleInput& input, std::string_view default_priority = kTrain);
// The default rule itself.
Grouping DefaultGrouping(const RuleInput& input);
// The queue of that project (5.3); of an empty one the default queue. `source`: who names it.
void SetQueueOfProject(const RuleInput& input, std::string_view project, std::string source, Grouping& grouping);
GroupOwner OwnerOf(ObjectView object);
// "pg-<name>-<UID>" of the object, as a name of Kubernetes.
std::string DefaultNameOf(ObjectView object);

// Copies texts: over those that are there, or beside them. What kubectl keeps of a whole object is left out (G17).
enum class Existing { kOverwritten, kKept };
void CopyTexts(const json::object* from, Existing existing, std::map<std::string, std::string>& to);

// Whether the text is a value of preemptibility, be it empty: unspecified.
bool IsPreemptibility(std::string_view text);
// Go's canonical form of the annotation's value; nullopt: the value is no duration, or below 0 where it must not be,
// and a warning says so. `source`: "annotation <key> of <object>".
enum class Sign { kAny, kNotNegative };
std::optional<std::string> DurationOf(std::string_view text, Sign sign, const std::string& source,
                                      std::vector<std::string>& warnings);

// The triple of the three annotations, as it is written; empty where there is none.
Topology TopologyOf(ObjectView object);
// The same from the annotations of a pod template, which may be null.
Topology TemplateTopologyOf(const json::value* pod_template);

// The five lines that say who the top owner is.
std::string TopOwnerText(ObjectView object);

}  // namespace basalt::pgsvc
