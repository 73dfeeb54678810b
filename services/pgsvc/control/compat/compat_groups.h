#pragma once

// The groups of the compat profile: those of plain pods, which have one owner or none (podgroup spec 4 to 7), and those
// of jobs, which jobsvc requests by calls. A scope is the key "namespace/name" of one group.
//
// Nothing acts by stored records. A pass derives the next step of the group from the observed state, so that a lost
// answer or a deleted group is found again (weaknesses W2, W3). Confined to the worker's loop.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/reconcile/slot_map.h"
#include "services/pgsvc/control/compat/compat_group.h"
#include "services/pgsvc/control/compat/compat_warnings.h"
#include "services/pgsvc/control/compat/compat_writes.h"
#include "services/pgsvc/control/group/group_publisher.h"
#include "services/pgsvc/control/group_scopes.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

class CompatGroups final : public GroupScopes {
 public:
  // The context, the publisher and the queues outlive this object.
  CompatGroups(runtime::Context& context, GroupPublisher& publisher, const QueueIndex& queues, GroupingOptions options);

  // See podgroup.v1.EnsurePodGroupRequest. UNAVAILABLE while the slot is not this worker's or not ready.
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done);
  // See podgroup.v1.DeletePodGroupRequest. UNAVAILABLE as for EnsurePodGroup.
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done);

  void OpenSlot(uint32_t slot) override { groups_.Open(slot); }
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view scope, kube::v1::Object&& object) override;
  void OnGone(std::string_view scope, const runtime::Gone& gone) override;
  void OnShared(const std::string&, const kube::v1::Object&, bool) override {}
  void OnQueues(const std::set<std::string>& names) override;
  void RetryFailed() override { writes_.RetryFailed(); }
  void Decide(std::string_view scope, kv::WriteBatch& batch) override;
  void Act(std::string_view scope) override;

  std::optional<podgroup::v1::PodGroup> Show(std::string_view scope, std::string_view name) const override;
  std::string_view GroupOf(std::string_view scope, std::string_view pod_name) const override;
  void ForEachPublished(uint32_t slot, const runtime::VisitObject& visit) const override;
  void AddPublishedKeys(uint32_t slot, std::set<std::string>& keys) const override;
  void LoadPublished(uint32_t slot, const std::string& published_key, const storage::v1::PublishedObject& record,
                     std::vector<runtime::KnownObject>& known) override;
  void VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const override;
  std::optional<Explanation> Explain(std::string_view scope, std::string_view pod_name) const override;

  const SlotMap<CompatGroup>& groups() const { return groups_; }

 private:
  // Whether clients get the group: it is observed, or a pod wants it.
  static bool IsThere(std::string_view scope, const CompatGroup& group);
  // Whether there is no group of that name, and no pod, call or write is left that needs one.
  static bool IsUnwanted(const CompatGroup& group);
  static const kube::v1::Pod* FindPod(const CompatGroup& group, std::string_view pod_name);
  void DropIfUnwanted(const std::string& scope);

  runtime::Context& context_;
  GroupPublisher& publisher_;
  const GroupingOptions options_;
  SlotMap<CompatGroup> groups_;
  CompatWarnings warnings_;
  CompatWrites writes_;
};

}  // namespace basalt::pgsvc
