#pragma once

// Decides to which group a plain pod belongs, and what that group looks like (podgroup spec 5 and 6). Pure.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/kinds.h"

namespace basalt::pgsvc {

// Returns `podgroup-<controller UID>`, or `podgroup-<pod UID>` if the pod has no controller (podgroup spec 5).
std::string GroupName(const kube::v1::Pod& pod);

// Whether a controller of plain pods gives such names to groups: `podgroup-<UUID>`.
bool IsPlainGroupName(std::string_view name);

// Whether the pod has finished, well or not.
bool IsOver(const kube::v1::Pod& pod);
// Whether the pod is neither over nor being deleted.
bool IsActive(const kube::v1::Pod& pod);

// Whether the pod needs a group from us at all: it is no job's, not bound yet, and neither finished nor being deleted
// (W13).
bool NeedsGroup(const kube::v1::Pod& pod);

// Whether the group `name`, which does not exist, has to be made for the pod. So it has for a bound pod whose group is
// gone (W3), if the name is one that we give. The owner that the group is named after may have left the pod behind
// since.
bool LacksGroup(const kube::v1::Pod& pod, std::string_view name);

// Whether the pod waits for the group `name`, which it names and which we do not make: it belongs to somebody else, and
// not to a job.
bool WaitsForGroup(const kube::v1::Pod& pod, std::string_view name);

// Explains, for an Event, that the pod names a missing group by the annotation `key` (weakness G49).
std::string WhyItWaits(std::string_view key, std::string_view name);

// The owners whose annotations count, in their order: those of the four kinds of podgroup spec 6.2. The API group must
// match as well as the kind (W10).
struct OwnerResource {
  kube::Kind kind;
  std::string name;
  std::string uid;
};
std::vector<OwnerResource> AnnotatedOwners(const kube::v1::Pod& pod);

// Returns the value of that key; nullopt if the list does not have it.
std::optional<std::string_view> FindKey(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& list,
                                        std::string_view key);

// Annotations of the owners; the earliest owner wins for each key.
using Annotations = std::map<std::string, std::string, std::less<>>;

// Returns minMember from the owners' annotations (podgroup spec 6.3); 1 if it is missing or malformed.
int32_t MinMember(const Annotations& owner_annotations);

struct GroupingOptions {
  bool inherit_owner_annotations = true;
  // Whether groups change with the workloads that own their pods (podgroup spec 4.2, 4.3); else they stay as made.
  bool follow_workloads = true;
  bool alternative_queue_keys = true;  // Accepts the seed's keys beside upstream's (podgroup spec 11, rows 2 and 3).
};

// This annotation of a pod group lists the keys of the labels that the group inherited from its pods, separated by
// commas.
inline constexpr std::string_view kInheritedLabelsKey = "basalt.dev/inherited-labels";

// The content of a group that follows from a pod and its owner. Values that these do not give are absent here, and stay
// in an existing group: an administrator, the admission or the scheduler may have set them.
struct WantedGroup {
  kube::v1::PodGroupSpec spec;  // Always has minMember and minResources.
  Annotations annotations;      // If there are any, one of them lists the others.
  Annotations labels;
};

// INVALID_ARGUMENT names annotation and rule if the API server would refuse the group for ever (negative tier,
// malformed queue name; weakness W9).
absl::StatusOr<WantedGroup> WantedGroupOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                          const GroupingOptions& options);

// Describes for people where each field of spec comes from, by its name. `owner` names the object of the annotations,
// as "ReplicaSet default/web".
std::map<std::string, std::string> SourcesOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                             std::string_view owner, const GroupingOptions& options);

// The content of an owner of pods, as observed or read.
struct OwnerFact {
  // The owner is being deleted or is gone: Kubernetes collects whatever names it as an owner.
  bool is_going = false;
  // Names the controller that makes the groups of the owner's pods instead (MakerOfGroups).
  std::string group_maker = {};
  Annotations annotations = {};
};
using OwnerFacts = std::map<std::string, OwnerFact, std::less<>>;  // By UID.

// Merges the annotations of the pod's owners (podgroup spec 6.2): the earliest owner wins for each key.
Annotations MergedAnnotations(const kube::v1::Pod& pod, const OwnerFacts& facts);

// Returns the merge patch that gives the group the owner references with which a group is created for the pod.
std::string OwnerReferencesPatch(const kube::v1::Pod& pod);

// Returns the body that creates the group; errors as of WantedGroupOf.
absl::StatusOr<std::string> GroupBody(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                      const GroupingOptions& options);

// Returns the body that creates the group `name` without owner references: for pods whose owner has left them behind,
// or is being deleted and leaves them where they are. Such a group goes some time after its last pod (IsForNothing).
std::string OwnerlessGroupBody(std::string_view ns, std::string_view name, const WantedGroup& wanted);

// Returns the merge patch that binds the pod to its group. The request names the pod's UID, so that a new pod of the
// same name is never bound to the dead one's group (W4).
std::string BindingPatch(std::string_view group_name);

}  // namespace basalt::pgsvc
