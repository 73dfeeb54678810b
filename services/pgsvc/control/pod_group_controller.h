#pragma once

// The pod group controller: one per worker, confined to the worker's loop. It owns the scopes of the three profiles
// (group_scopes.h), and passes each key to the profile that the key implies (common/kube/group_profile.h). It records
// decisions for people (group_records.h), and publishes changes to clients that watch.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/rpc/peers.h"
#include "common/runtime/controller.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/compat/compat_groups.h"
#include "services/pgsvc/control/group/group_publisher.h"
#include "services/pgsvc/control/group_records.h"
#include "services/pgsvc/control/group_scopes.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/control/queue_index.h"

namespace basalt::pgsvc {

class PodGroupController : public runtime::Controller {
 public:
  // `metrics` may be null. `context` and `metrics` outlive the controller.
  PodGroupController(runtime::Context& context, GroupingOptions options, const history::Limits& limits = {},
                     obs::Metrics* metrics = nullptr, RuleOptions rules = {});
  ~PodGroupController() override;

  // See CompatGroups.
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) {
    compat_groups_.EnsurePodGroup(std::move(request), std::move(done));
  }
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done) {
    compat_groups_.DeletePodGroup(std::move(request), std::move(done));
  }

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override { ScopesOf(key).Decide(key, batch); }
  void Act(std::string_view key) override;

  runtime::Context& context() { return context_; }
  GroupRecords& records() { return records_; }
  runtime::Publisher& publisher() { return publisher_; }
  // Returns the scopes of the profile that the routing key implies.
  GroupScopes& ScopesOf(std::string_view routing_key);
  const CompatGroups& compat_groups() const { return compat_groups_; }
  // Returns the scopes of all profiles, in the order of kube::GroupProfile.
  const std::vector<GroupScopes*>& all_scopes() const { return all_scopes_; }
  // Returns the group of that kube::ShownGroupKey; nullopt as for GroupScopes::Show.
  std::optional<podgroup::v1::PodGroup> Show(std::string_view published_key) const;
  // Does what GroupScopes::ForEachPublished does, for all profiles. The watch calls this method by its name
  // (common/runtime/watch/watch_part.h).
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit);

 private:
  GroupScopes& ScopesOf(kube::GroupProfile profile) const;
  // Loads the groups that were published before the slot was opened, and that may have gone since.
  absl::StatusOr<std::vector<runtime::KnownObject>> LoadPublished(uint32_t slot);
  void OnQueue(const kube::v1::Queue& queue, bool gone);
  void AgeHistoryLater();

  runtime::Context& context_;
  GroupRecords records_;
  runtime::Publisher publisher_;
  GroupPublisher group_publisher_;
  obs::Metrics* const metrics_;
  ObjectInterests interests_;
  QueueIndex queues_;
  CompatGroups compat_groups_;
  NamespaceGroups rich_groups_;
  NamespaceGroups kai_groups_;
  const std::vector<GroupScopes*> all_scopes_;
  TimerId history_timer_ = kNoTimer;
};

}  // namespace basalt::pgsvc
