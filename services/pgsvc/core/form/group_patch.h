#pragma once

// What a group by the rules of all kinds has to become where it is there already: who wins for each field (pod-grouper
// 7, 11; weaknesses G32, G33). Pure.
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {

// A group of either form, as Kubernetes has it.
struct ObservedGroup {
  kube::v1::PodGroup object;   // Of KAI's form the metadata alone.
  std::string spec_json = {};  // Of KAI's form: spec as JSON; empty: none.
};

struct PatchRules {
  // Fields of spec that are as grouping says, whoever has set them.
  std::span<const std::string_view> own;
  // Fields that a group need not have. Of these, what somebody else has put there stays.
  std::span<const std::string_view> optional;
  bool follows_queue = false;          // Else the queue is fixed when the group is made.
  std::set<std::string> fixed_labels;  // Labels that are not written on a group that is there.
  bool is_only_owner = false;          // No other owner reference may stand beside that of the grouping.
};

// The value of the annotation of ours that says which of the fields that a group need not have are there because
// grouping asks for them.
std::string GroupedFields(std::span<const std::string_view> optional, const json::object& group);

// `observed_spec`: spec as JSON. `wanted`: the object that creates the group, with that annotation, where it has any
// such field; without owner references those that are there stay. Nullopt: nothing differs. Whatever the scheduler or a
// user sets for itself, and fields that grouping says nothing of stay as they are; a field that grouping has set and
// says nothing of any more is taken away, as is an annotation that it names as inherited (kube::kInheritedKey) and that
// is not any more.
std::optional<GroupUpdate> GroupUpdateOf(const kube::v1::ObjectMeta& observed, const json::value& observed_spec,
                                         const json::object& wanted, const PatchRules& rules);

}  // namespace basalt::pgsvc
