#pragma once

// What the group of an owner's pods has to follow: ReplicaSet, StatefulSet, DaemonSet or batch Job (podgroup spec 4.2
// to 4.4, 6.1, 7.2; the seed's row 5). Pure.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

// The group is the one that is made for the owner's pods: it names the owner as its controller. Any other of that name
// is somebody else's, and left alone.
bool IsGroupOf(const kube::v1::PodGroup& group, const kube::v1::Workload& owner);

// The owner is scaled to zero or suspended. Its group holds resources for nothing once the last pod is over.
bool WantsNoPods(const kube::v1::Workload& owner);

// Annotations of the owner that a group takes over, or is made by.
Annotations AnnotationsOf(const kube::v1::Workload& owner);

OwnerFact FactOf(const kube::v1::Workload& owner);

// The group as it is, to be made again so.
WantedGroup AsItIs(const kube::v1::PodGroup& group);

struct GroupUpdate {
  std::string patch;                // A JSON merge patch.
  std::vector<std::string> fields;  // What it changes: names of fields of spec, or of metadata; sorted.
};
// What a patch of these parts changes; nullopt: they are empty. `owners`: the owner references as they are to be;
// nullopt: they stay.
std::optional<GroupUpdate> UpdateOfParts(json::object spec, json::object annotations, json::object labels,
                                         std::optional<json::array> owners);
// Nullopt: nothing differs. Only what `wanted` says is compared, and what it does not say any more of what was
// inherited before: what others have put into the group stays (weaknesses W5, W6).
std::optional<GroupUpdate> UpdateOf(const kube::v1::PodGroup& observed, const WantedGroup& wanted);

// Puts null into the patch for each annotation that the observed ones name as inherited and that is not wanted any
// more.
void DropInherited(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& observed,
                   const std::function<bool(std::string_view)>& is_wanted, json::object& patch);

// Whether two pods of one owner ask for the same group.
bool AskForTheSame(const kube::v1::Pod& a, const kube::v1::Pod& b);

// Why the group can never be placed; empty: it can (weakness W17).
std::string WhyNeverPlaced(const WantedGroup& wanted, const kube::v1::Workload& owner);

}  // namespace basalt::pgsvc
