#pragma once

// Groups as KAI's scheduler reads them: scheduling.run.ai/v2alpha2 (pod-grouper 7 to 9).
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/names.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/form/kai_form.h"

namespace basalt::pgsvc {

class KaiEmitter final : public GroupEmitter {
 public:
  explicit KaiEmitter(RuleOptions options, SpecSchema schema = {})
      : GroupEmitter(std::move(schema)), options_(std::move(options)) {}

  kube::GroupProfile profile() const override { return kube::GroupProfile::kKai; }
  const kube::Kind& kind() const override { return kube::kKaiPodGroups; }
  std::string watch() const override;
  std::string_view group_name_key() const override;
  std::string_view definition_watch() const override { return kube::kWatchKaiDefinition; }
  GroupForm form() const override { return GroupFormOf(schema()); }
  bool counts_resources() const override { return false; }
  bool drops_empty_groups() const override { return false; }
  // KAI's own grouper marks its groups in the same way.
  bool IsByRules(const ObservedGroup& observed) const override;
  // Whether the group is ours or KAI's own: it names its top owner, or has the same owner.
  bool IsOurs(const ObservedGroup& observed, const Grouping& wanted) const override;
  json::value SpecOf(const ObservedGroup& group) const override;
  RenderedGroup Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const override;
  std::optional<GroupUpdate> UpdateOf(const ObservedGroup& observed, const Grouping& wanted,
                                      const RenderedGroup& rendered) const override;
  std::set<std::string> LeavesIn(const ObservedGroup& observed, const std::set<std::string>& leaves) const override;
  int64_t LeastPodsOf(const Grouping& grouping) const override;

  // Renders the group from the grouping alone: without the check of the priority class.
  RenderedGroup Render(const Grouping& grouping) const;

 private:
  const RuleOptions options_;
};

}  // namespace basalt::pgsvc
