#pragma once

// The groups of the compat profile: those of plain pods, which have one owner or none (podgroup spec 4 to 7), and those
// of jobs, which jobsvc requests by calls. A scope is the key "namespace/name" of one group.
//
// Nothing acts by stored records. A pass derives the next step of the group from the observed state, so that a lost
// answer or a deleted group is found again (weaknesses W2, W3). Confined to the worker's loop.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/reconcile/slot_map.h"
#include "common/runtime/events/event_recorder.h"
#include "services/pgsvc/control/compat/compat_group.h"
#include "services/pgsvc/control/compat/job_calls.h"
#include "services/pgsvc/control/group/group_publisher.h"
#include "services/pgsvc/control/group/group_writes.h"
#include "services/pgsvc/control/group_scopes.h"
#include "services/pgsvc/control/namespaces/dependents.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

class CompatGroups final : public GroupScopes, private GroupWrites::Host {
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
  void RetryFailed() override;
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
  // ---- the next step (compat_groups.cc) ----
  void Serve(const GroupRef& ref, CompatGroup& group);
  GroupStep NextStep(const GroupRef& ref, CompatGroup& group);
  GroupStep StepToCreate(const GroupRef& ref, CompatGroup& group);
  GroupStep StepOfOwner(const GroupRef& ref, CompatGroup& group);
  GroupStep StepForEmpty(const GroupRef& ref, CompatGroup& group);
  GroupStep StepToDelete(const GroupRef& ref, CompatGroup& group, GroupDecision decision);
  // Restores owner references that somebody has removed: without an owner Kubernetes never collects the group.
  void RestoreOwners(const GroupRef& ref, CompatGroup& group);
  // Creates the group for the pod. Before that, reads the owners that count and are missing in `facts`.
  void CreateFor(const GroupRef& ref, CompatGroup& group, const kube::v1::Pod& pod, OwnerFacts facts);
  absl::StatusOr<std::string> BodyFor(std::string_view name, const CompatGroup& group, const kube::v1::Pod& pod,
                                      const OwnerFacts& facts) const;
  // Describes the controller that makes the groups of these pods instead of us; empty if there is none.
  static std::string MakerFor(const CompatGroup& group);
  // `fact` is nullopt if the owner could not be read.
  using OnOwner = std::function<void(CompatGroup& group, std::optional<OwnerFact> fact)>;
  void ReadOwner(const GroupRef& ref, CompatGroup& group, const OwnerResource& owner, OnOwner then);
  // Whether a write with that result is not due yet; a pass follows when it is.
  bool WaitsFor(const GroupRef& ref, const Pace& pace, const std::string& state);
  void TryLater(const GroupRef& ref, CompatGroup& group);
  // Resolves a write of unknown outcome, after the group was read: notes the decision if the group has the written
  // values.
  void NoteIfCarriedOut(const GroupRef& ref, CompatGroup& group);

  // ---- published state and warnings (compat_shown.cc) ----
  // Whether clients get the group: it is observed, or a pod wants it.
  static bool IsThere(std::string_view scope, const CompatGroup& group);
  // Whether there is no group of that name, and no pod, call or write is left that needs one.
  static bool IsUnwanted(const CompatGroup& group);
  static const kube::v1::Pod* FindPod(const CompatGroup& group, std::string_view pod_name);
  void DropIfUnwanted(const std::string& scope);
  void ReportMissing(const GroupRef& ref, CompatGroup& group);
  // Returns why the queue of the group places nothing; empty if nothing known prevents it. Adds the names of the queues
  // that the answer depends on.
  std::string WhyQueuePlacesNothing(const kube::v1::PodGroup& group, std::set<std::string>& queues) const;
  void CheckQueue(const GroupRef& ref, CompatGroup& group);
  // Returns null if the pod is gone, or has no warning.
  runtime::ObjectEvents* EventsOf(const std::string& scope, const std::string& pod_uid) const;
  // Returns true if the warning is the first of its series.
  bool RecordOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  void ReportOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod, std::string_view message);

  // ---- GroupWrites::Host ----
  CompatGroup* FindEntry(const GroupRef& ref) override { return groups_.Find(ref.scope); }
  const kube::v1::ObjectMeta* FindMeta(const GroupRef& ref) const override;
  void Publish(const GroupRef& ref) override { context_.Wake(ref.scope); }
  void Touch(const GroupRef& ref) override { context_.Wake(ref.scope); }
  void TouchAt(const GroupRef& ref, absl::Time when) override { context_.WakeAt(ref.scope, when); }
  void OnAnswer(const GroupRef& ref, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) override;
  void OnRead(const GroupRef& ref, GroupEntry& entry, Answer answer, const kube::v1::Object* found) override;
  ScopeLinks* FindScopeLinks(const std::string& scope) override;
  LinkStep NextLink(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid) override;
  PodLink* FindLink(const GroupRef& ref, const std::string& pod_uid) override;
  void OnLinked(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                Meaning meaning) override;

  runtime::Context& context_;
  GroupPublisher& publisher_;
  const QueueIndex& queues_;
  const GroupingOptions options_;
  SlotMap<CompatGroup> groups_;
  Dependents queue_dependents_;                 // The scopes that depend on each queue, by its name.
  std::set<std::string, std::less<>> failing_;  // The scopes whose last try has failed.
  runtime::EventRecorder recorder_;
  GroupWrites writes_;
  JobCalls calls_;
};

}  // namespace basalt::pgsvc
