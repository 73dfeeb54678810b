#include "services/pgsvc/core/grouping/group_plan.h"

#include <fmt/format.h>

#include <utility>

#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

void GroupPlan::Add(std::string_view pod, Grouping grouping) {
  warnings_.insert(grouping.warnings.begin(), grouping.warnings.end());
  leaves_.insert(grouping.pod_sub_group);
  if (!first_pod_.empty() && first_pod_ < pod) return;
  first_pod_ = pod;
  grouping_ = std::move(grouping);
}

Grouping GroupPlan::Group(const GroupForm& form) const {
  Grouping group = grouping_;
  group.pod_sub_group.clear();
  std::set<std::string> warnings = warnings_;
  std::set<std::string> known = {""};
  for (const SubGroup& sub_group : group.sub_groups) {
    if (!sub_group.minimum.of_sub_groups) known.insert(sub_group.name);
  }
  bool needs_default = leaves_.contains("") && !group.sub_groups.empty();
  for (const std::string& leaf : leaves_) {
    if (known.contains(leaf)) continue;
    needs_default = needs_default || !group.sub_groups.empty();
    warnings.insert(
        fmt::format("pods of subgroup {} belong to none of the subgroups that pod {} asks for", leaf, first_pod_));
  }
  if (needs_default && form.has_optional_leaves) AddDefaultSubGroup(group);
  group.warnings.assign(warnings.begin(), warnings.end());
  return group;
}

}  // namespace basalt::pgsvc
