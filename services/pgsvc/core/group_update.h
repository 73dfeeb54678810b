#pragma once

// Changes of a group that follow from the owner of its pods: a ReplicaSet, StatefulSet, DaemonSet or batch Job
// (podgroup spec 4.2 to 4.4, 6.1, 7.2; the seed's row 5). Pure.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

// Whether the group is the one that is made for the owner's pods: it names the owner as its controller. Any other group
// of the name belongs to somebody else, and is left alone.
bool IsGroupOf(const kube::v1::PodGroup& group, const kube::v1::Workload& owner);

// Whether the owner is scaled to zero or suspended. Its group holds resources for nothing once the last pod is over.
bool WantsNoPods(const kube::v1::Workload& owner);

// Returns the annotations of the owner that a group inherits or is made by.
Annotations AnnotationsOf(const kube::v1::Workload& owner);

OwnerFact FactOf(const kube::v1::Workload& owner);

// Returns the group as it is, to be made again in the same way.
WantedGroup AsItIs(const kube::v1::PodGroup& group);

struct GroupUpdate {
  std::string patch;                // A JSON merge patch.
  std::vector<std::string> fields;  // The names of the changed fields of spec, or of metadata; sorted.
};
// Combines the parts into an update; nullopt if they are empty. `owners` are the new owner references; nullopt if the
// existing ones stay.
std::optional<GroupUpdate> UpdateOfParts(json::object spec, json::object annotations, json::object labels,
                                         std::optional<json::array> owners);
// Returns nullopt if nothing differs. Compares only the values of `wanted`, and removes inherited ones that `wanted`
// has no longer: everything that others have put into the group stays (weaknesses W5, W6).
std::optional<GroupUpdate> UpdateOf(const kube::v1::PodGroup& observed, const WantedGroup& wanted);

// Puts null into the patch for each annotation that the observed ones name as inherited and that is wanted no longer.
void DropInherited(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& observed,
                   const std::function<bool(std::string_view)>& is_wanted, json::object& patch);

// Whether two pods of one owner request the same group.
bool AskForTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b);

// Explains why the group can never be placed; empty if it can (weakness W17).
std::string WhyNeverPlaced(const WantedGroup& wanted, const kube::v1::Workload& owner);

}  // namespace basalt::pgsvc
