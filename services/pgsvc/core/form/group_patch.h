#pragma once

// Computes the changes of an existing group by the rules of all kinds, and who wins for each field (pod-grouper 7, 11;
// weaknesses G32, G33). Pure.
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {

// A group of either form as Kubernetes has it.
struct ObservedGroup {
  kube::v1::PodGroup object;   // Of KAI's form, the metadata alone.
  std::string spec_json = {};  // Of KAI's form: spec as JSON; empty if there is none.
};

struct PatchRules {
  // Fields of spec that follow the grouping, whoever has set them.
  std::span<const std::string_view> own;
  // Fields that a group need not have. A value that somebody else has set stays.
  std::span<const std::string_view> optional;
  bool follows_queue = false;          // If false, the queue is fixed at the creation of the group.
  std::set<std::string> fixed_labels;  // Labels that are not written to an existing group.
  bool is_only_owner = false;          // No other owner reference may stand beside the grouping's.
};

// Returns the value of our annotation that lists which of the optional fields the group has because grouping requests
// them.
std::string GroupedFields(std::span<const std::string_view> optional, const json::object& group);

// Returns the update that makes an existing group as wanted; nullopt if nothing differs. `observed_spec` is its spec as
// JSON. `wanted` is the object that creates the group, with the annotation of GroupedFields if it has such a field; if
// it has no owner references, the existing ones stay. Fields that the scheduler or a user sets, and that grouping does
// not mention, stay as they are. A field that grouping has set and mentions no longer is removed, and so is an
// annotation that the group names as inherited (kube::kInheritedKey) and that is inherited no longer.
std::optional<GroupUpdate> GroupUpdateOf(const kube::v1::ObjectMeta& observed, const json::value& observed_spec,
                                         const json::object& wanted, const PatchRules& rules);

}  // namespace basalt::pgsvc
