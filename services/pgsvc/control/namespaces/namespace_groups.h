#pragma once

// The groups of pods by the rules of all kinds, in the form of one scheduler (core/form). The key is a namespace
// (kube::NamespaceKey). Owners of owners, labels and other groups decide which pods belong together, and all of these
// are in the namespace, so that one worker decides for the whole namespace.
//
// A pod is grouped by the rules (core/grouping) when it comes, and again when a fact changes by which it was grouped. A
// pass groups a limited number of pods, and serves only groups whose members or state have changed. Nothing acts by
// stored records: the state of the API server is compared with the result of the rules. One per worker and form;
// confined to the worker's loop.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/control/group/group_publisher.h"
#include "services/pgsvc/control/group_scopes.h"
#include "services/pgsvc/control/namespaces/karta_warnings.h"
#include "services/pgsvc/control/namespaces/namespace_state.h"
#include "services/pgsvc/control/namespaces/namespace_warnings.h"
#include "services/pgsvc/control/namespaces/namespace_writes.h"
#include "services/pgsvc/control/namespaces/object_interests.h"
#include "services/pgsvc/control/namespaces/pod_grouper.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

class NamespaceGroups final : public GroupScopes {
 public:
  // All references outlive this object. `queues` are Volcano's.
  NamespaceGroups(runtime::Context& context, ObjectInterests& interests, GroupPublisher& publisher,
                  const QueueIndex& queues, RuleOptions rules, std::unique_ptr<GroupEmitter> emitter);

  void OpenSlot(uint32_t slot) override { namespaces_.Open(slot); }
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view key, kube::v1::Object&& object) override;
  void OnGone(std::string_view key, const runtime::Gone& gone) override;
  // Gets priority classes, Kartas, the definition of groups, and objects that rules have requested.
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void OnQueues(const std::set<std::string>& names) override;
  void RetryFailed() override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  std::optional<podgroup::v1::PodGroup> Show(std::string_view key, std::string_view name) const override;
  std::string_view GroupOf(std::string_view key, std::string_view pod_name) const override;
  void ForEachPublished(uint32_t slot, const runtime::VisitObject& visit) const override;
  void AddPublishedKeys(uint32_t slot, std::set<std::string>& keys) const override;
  void LoadPublished(uint32_t slot, const std::string& published_key, const storage::v1::PublishedObject& record,
                     std::vector<runtime::KnownObject>& known) override;
  void VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const override;
  std::optional<Explanation> Explain(std::string_view key, std::string_view pod_name) const override;

 private:
  NamespaceState& NamespaceOf(std::string_view key);
  void OnPod(NamespaceState& space, kube::v1::Pod&& pod);
  void OnGroup(NamespaceState& space, std::unique_ptr<ObservedGroup> group);
  void OnPodGone(NamespaceState& space, const std::string& uid);
  // The pod names the group `now` from now on; none if `now` is empty. No pod may be left that names the earlier group.
  void NoteUnnamed(NamespaceState& space, const std::string& uid, std::string_view now);
  // Makes the pods and groups of all namespaces due that depend on the facts.
  void NoteChangedEverywhere(const std::set<std::string>& facts);
  // The cluster's definition of groups has changed: all pods and groups are looked at again.
  void LookAtAllAgain();
  void Pass(NamespaceState& space);
  void GroupPod(NamespaceState& space, const std::string& uid);
  // Whether groups may be compared with the plans of their members. Updates NamespaceState::is_complete.
  bool IsComplete(NamespaceState& space);

  runtime::Context& context_;
  ObjectInterests& interests_;
  GroupPublisher& publisher_;
  SlotMap<NamespaceState> namespaces_;
  PodGrouper grouper_;
  NamespaceWarnings warnings_;
  KartaWarnings karta_warnings_;
  NamespaceWrites writes_;
};

}  // namespace basalt::pgsvc
