#pragma once

// Groups by the rules of all kinds as Volcano's scheduler reads them: scheduling.volcano.sh/v1beta1 (pod-grouper 11,
// the rich profile).
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/core/form/group_emitter.h"

namespace basalt::pgsvc {

class VolcanoEmitter final : public GroupEmitter {
 public:
  explicit VolcanoEmitter(SpecSchema schema = {}) : GroupEmitter(std::move(schema)) {}

  kube::GroupProfile profile() const override { return kube::GroupProfile::kRich; }
  const kube::Kind& kind() const override { return kube::kPodGroups; }
  std::string watch() const override;
  std::string_view group_name_key() const override;
  std::string_view definition_watch() const override { return kube::kWatchPodGroupDefinition; }
  GroupForm form() const override;
  bool counts_resources() const override { return true; }
  bool drops_empty_groups() const override { return true; }
  bool IsByRules(const ObservedGroup& observed) const override { return IsMadeHere(observed); }
  // A group that a user has made belongs to the user, whomever the group names as its owner.
  bool IsOurs(const ObservedGroup& observed, const Grouping&) const override { return IsByRules(observed); }
  json::value SpecOf(const ObservedGroup& group) const override;
  RenderedGroup Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const override;
  std::optional<GroupUpdate> UpdateOf(const ObservedGroup& observed, const Grouping& wanted,
                                      const RenderedGroup& rendered) const override;
  // The scheduler places a pod that no policy captures as one of the group's own.
  std::set<std::string> LeavesIn(const ObservedGroup&, const std::set<std::string>& leaves) const override {
    return leaves;
  }
  int64_t LeastPodsOf(const Grouping& grouping) const override;
};

}  // namespace basalt::pgsvc
