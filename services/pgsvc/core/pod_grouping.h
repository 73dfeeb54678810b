#pragma once

// Which group a plain pod belongs to, and what that group is to look like (podgroup spec 5 and 6). Pure.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/kinds.h"

namespace basalt::pgsvc {

// `podgroup-<controller UID>`, or the pod's own UID where it has no controller (podgroup spec 5).
std::string GroupName(const kube::v1::Pod& pod);

// Whether a controller of plain pods gives such a name to a group: `podgroup-<UUID>`.
bool IsPlainGroupName(std::string_view name);

// Finished, well or not.
bool IsOver(const kube::v1::Pod& pod);
// Neither over nor being deleted.
bool IsActive(const kube::v1::Pod& pod);

// Whether the pod needs a group from us at all: no job's pod, not bound yet, neither finished nor being deleted (W13).
bool NeedsGroup(const kube::v1::Pod& pod);

// Whether the pod needs the group `name`, which is not there, to be made: also a bound pod whose group is gone (W3),
// where we name groups so. Its owner may have left the pod behind since the group was named after that owner.
bool LacksGroup(const kube::v1::Pod& pod, std::string_view name);

// Whether the pod waits for the group `name`, which it names and which is not ours to make: somebody else's, and not
// the group of a job.
bool WaitsForGroup(const kube::v1::Pod& pod, std::string_view name);

// In words, for the Event of a pod that names that group, which is not there, by the annotation `key` (weakness G49).
std::string WhyItWaits(std::string_view key, std::string_view name);

// The owners whose annotations count, in their order: those of the four kinds of podgroup spec 6.2. The API group is
// compared as well as the kind (W10).
struct OwnerResource {
  kube::Kind kind;
  std::string name;
  std::string uid;
};
std::vector<OwnerResource> AnnotatedOwners(const kube::v1::Pod& pod);

// The value of that key; nullopt: there is none.
std::optional<std::string_view> FindKey(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& list,
                                        std::string_view key);

// Annotations of the owners, the earliest owner winning for each key.
using Annotations = std::map<std::string, std::string, std::less<>>;

// minMember from the owners' annotations (podgroup spec 6.3); 1 where there is none or it is malformed.
int32_t MinMember(const Annotations& owner_annotations);

struct GroupingOptions {
  bool inherit_owner_annotations = true;
  // Groups change with the workloads that own their pods (podgroup spec 4.2, 4.3); else they stay as they were made.
  bool follow_workloads = true;
  bool alternative_queue_keys = true;  // The seed's keys beside upstream's (podgroup spec 11, rows 2 and 3).
};

// Our annotation on a group, which lists the labels that the group has from its pods.
inline constexpr std::string_view kInheritedLabelsKey = "basalt.dev/inherited-labels";

// What the group is to have of a pod and its owner. What they do not say is left out, and left alone in a group that is
// there: an administrator, the admission or the scheduler may have said it.
struct WantedGroup {
  kube::v1::PodGroupSpec spec;  // Always with minMember and minResources.
  Annotations annotations;      // With the one that names the others, where there are others.
  Annotations labels;
};

// INVALID_ARGUMENT names annotation and rule where the API server would refuse it
// for ever (negative tier, malformed queue name; weakness W9).
absl::StatusOr<WantedGroup> WantedGroupOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                          const GroupingOptions& options);

// Where each field of that comes from, by the name of the field of spec, for people. `owner`: what the annotations are
// of, as "ReplicaSet default/web".
std::map<std::string, std::string> SourcesOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                             std::string_view owner, const GroupingOptions& options);

// What an owner of pods says, as it was seen or read.
struct OwnerFact {
  bool is_going = false;  // It is being deleted or is gone, and Kubernetes collects whatever names it as its owner.
  std::string group_maker = {};  // Who makes the groups of its pods instead, in words (MakerOfGroups).
  Annotations annotations = {};
};
using OwnerFacts = std::map<std::string, OwnerFact, std::less<>>;  // By UID.

// What the pod's owners say together (podgroup spec 6.2): the earliest owner wins for each key.
Annotations MergedAnnotations(const kube::v1::Pod& pod, const OwnerFacts& facts);

// The merge patch that gives the group the owner references with which it is created for the pod.
std::string OwnerReferencesPatch(const kube::v1::Pod& pod);

// The body that creates the group; errors as of WantedGroupOf.
absl::StatusOr<std::string> GroupBody(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                      const GroupingOptions& options);

// The body that creates the group `name` without owner references: for pods whose owner has left them behind, or goes
// and stays where it is. Such a group goes some time after its last pod (IsForNothing).
std::string OwnerlessGroupBody(std::string_view ns, std::string_view name, const WantedGroup& wanted);

// The merge patch that binds the pod to its group; uid goes into the request, so that a pod of the same name that was
// made anew is never bound to the dead one's group (W4).
std::string BindingPatch(std::string_view group_name);

}  // namespace basalt::pgsvc
