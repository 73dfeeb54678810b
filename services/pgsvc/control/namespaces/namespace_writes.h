#pragma once

// Finds the next write of each group of a namespace, and the links of its pods: the state of the API server is compared
// with the result of the rules. Nothing acts by stored records. Confined to the worker's loop.
#include <string>

#include "absl/time/time.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/pgsvc/control/group/group_writes.h"
#include "services/pgsvc/control/namespaces/namespace_state.h"
#include "services/pgsvc/control/namespaces/namespace_warnings.h"
#include "services/pgsvc/control/namespaces/pod_grouper.h"

namespace basalt::pgsvc {

class NamespaceWrites final : private GroupWrites::Host {
 public:
  // How long a group that holds resources may be without pods before it is deleted.
  static constexpr absl::Duration kEmptyGrace = absl::Seconds(30);
  // The same while the groups of some pods are not known yet.
  static constexpr absl::Duration kMostEmptyGrace = absl::Minutes(5);

  // All references outlive this object.
  NamespaceWrites(runtime::Context& context, PodGrouper& grouper, NamespaceWarnings& warnings,
                  const SlotMap<NamespaceState>& namespaces);

  // Sends the next write of the group, if there is one and the group is not busy.
  void Serve(NamespaceState& space, const std::string& name, GroupState& group);
  // Ends a pass of the namespace: groups that wait for the limit of links have their turn.
  void EndPass(NamespaceState& space) { writes_.TouchWaiting(space.key, space.links); }
  // The group is gone. Notes our own deletion, unless an answer is under way, which notes the deletion itself.
  void NoteDeletion(NamespaceState& space, const std::string& name, GroupState& group);

 private:
  // Serves a group without active members: deletes it after a while if it goes with its pods, and if no pod names it,
  // or only pods that are over for good.
  void ServeEmpty(NamespaceState& space, const std::string& name, GroupState& group);
  // Serves a group that is gone, and into which the rules put no active pod any more. If active pods still name the
  // group, it is made again.
  void ServeLost(NamespaceState& space, const std::string& name, GroupState& group);
  void Create(NamespaceState& space, const std::string& name, GroupState& group);
  void Update(NamespaceState& space, const std::string& name, GroupState& group);
  // The group is as wanted: notes the decision of a write of unknown outcome, which was carried out.
  void NoteIfCarriedOut(const NamespaceState& space, const std::string& name, GroupState& group);
  // Whether the pace holds back the write that leads to `state`. Then the group is served again when the write is due.
  bool WaitsFor(NamespaceState& space, const std::string& name, const Pace& pace, const std::string& state);

  // ---- GroupWrites::Host ----
  GroupState* FindEntry(const GroupRef& group) override;
  const kube::v1::ObjectMeta* FindMeta(const GroupRef& group) const override;
  bool IsKeptElsewhere(const kube::v1::Object& group) const override;
  void Publish(const GroupRef& group) override;
  void Touch(const GroupRef& group) override;
  void TouchAt(const GroupRef& group, absl::Time when) override;
  void OnAnswer(const GroupRef& group, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) override;
  void OnRead(const GroupRef& group, GroupEntry& entry, Answer answer, const kube::v1::Object* found) override;
  ScopeLinks* FindScopeLinks(const std::string& scope) override;
  LinkStep NextLink(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid) override;
  PodLink* FindLink(const GroupRef& group, const std::string& pod_uid) override;
  void OnLinked(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                Meaning meaning) override;

  runtime::Context& context_;
  PodGrouper& grouper_;
  NamespaceWarnings& warnings_;
  const SlotMap<NamespaceState>& namespaces_;
  GroupWrites writes_;
};

}  // namespace basalt::pgsvc
