#pragma once

// What the KAI scheduler's group has to become: who wins for each field where the group is there already (pod-grouper
// 7; weaknesses G32, G33). Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/group_update.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/rule.h"
#include "services/pgsvc/core/kai/group_form.h"

namespace basalt::pgsvc {

// The object that creates the group. An annotation of ours says which of the fields that a group need not have are
// there because grouping asks for them.
json::object NewKaiGroup(const Grouping& wanted, const KaiGroupForm& form = {});

// The group is one that grouping has made, ours or KAI's own: it says whose pods it has, or names the same owner. Any
// other of that name is somebody else's, and left alone.
bool IsKaiGroupOf(const kube::v1::KaiPodGroup& observed, const Grouping& wanted);

// Nullopt: nothing differs. The queue, whatever the scheduler or a user sets for itself, and fields that grouping says
// nothing of stay as they are; a field that grouping has set and says nothing of any more is taken away.
std::optional<GroupUpdate> KaiUpdateOf(const kube::v1::KaiPodGroup& observed, const Grouping& wanted,
                                       const RuleOptions& options, const KaiGroupForm& form = {});

// Why KAI's scheduler has not placed the group: from its status, which an answer to Get has (9.1). One text for each
// reason of each node pool, in the scheduler's words.
std::vector<std::string> UnschedulableReasons(const kube::v1::KaiPodGroup& group);

// What the group loses in a cluster whose definition has that form, in words.
std::vector<std::string> LossesOf(const Grouping& wanted, const KaiGroupForm& form);

// The patch by which the pod names its group and subgroup, `sub_group` being empty where the pod belongs to none (8);
// nullopt: the pod names them.
std::optional<std::string> KaiPodPatch(const kube::v1::Pod& pod, std::string_view group, std::string_view sub_group);

}  // namespace basalt::pgsvc
