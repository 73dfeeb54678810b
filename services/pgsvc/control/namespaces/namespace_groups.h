#pragma once

// The groups of pods by the rules of all kinds, in the form of one scheduler (core/form). The key is a namespace
// (kube::NamespaceKey). Owners of owners, labels and other groups decide which pods belong together, and all of these
// are in the namespace, so that one worker decides for the whole namespace.
//
// A pod is grouped by the rules (core/grouping) when it comes, and again when a fact changes by which it was grouped. A
// pass groups a limited number of pods, and serves only groups whose members or state have changed. Nothing acts by
// stored records: the state of the API server is compared with the result of the rules. One per worker and form;
// confined to the worker's loop.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/grouping.pb.h"
#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/control/group/due_queue.h"
#include "services/pgsvc/control/group/group_publisher.h"
#include "services/pgsvc/control/group/group_writes.h"
#include "services/pgsvc/control/group_scopes.h"
#include "services/pgsvc/control/namespaces/dependents.h"
#include "services/pgsvc/control/namespaces/group_state.h"
#include "services/pgsvc/control/namespaces/karta_warnings.h"
#include "services/pgsvc/control/namespaces/namespace_objects.h"
#include "services/pgsvc/control/namespaces/object_interests.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

class NamespaceGroups final : public GroupScopes, private GroupWrites::Host {
 public:
  // How many pods a pass groups at most. The next pass goes on, and other keys have their turn before.
  static constexpr size_t kPodsPerPass = 200;
  // After so many steps of Kartas' expressions a pass groups no further pod, and serves no further group.
  static constexpr int64_t kStepsPerPass = 200'000;
  // How long a pod may lack its owner or group without a warning. An owner is gone some time before its pods, and
  // objects that are made together may arrive at different times.
  static constexpr absl::Duration kMissingGrace = absl::Seconds(30);
  // How many pods get an Event of one problem at most.
  static constexpr size_t kMostReported = 10;
  // How many problems with an Event are remembered for one pod.
  static constexpr size_t kMostProblems = 10;

  // How long a group that holds resources may be without pods before it is deleted.
  static constexpr absl::Duration kEmptyGrace = absl::Seconds(30);
  // The same while the groups of some pods are not known yet.
  static constexpr absl::Duration kMostEmptyGrace = absl::Minutes(5);

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
  struct Pod {
    std::string group;  // Empty if the pod is in no group, or if its group is not known yet.
    // The text of the warning about an object or a group that the pod lacks; empty if it lacks none.
    std::string missing;
    std::string_view missing_reason;  // The reason of the Event with the text `missing`.
    absl::Time missing_since = absl::InfiniteFuture();
    PodLink link;
    std::deque<std::string> problems;  // The newest kMostProblems problems of which the pod has an Event.
    runtime::ObjectEvents events;
  };
  struct Namespace {
    explicit Namespace(const GroupEmitter& emitter) : objects(emitter) {}

    // Whether all pods that existed when the namespace came here have been grouped once, or their owners have been
    // waited for long enough. Before that, a group may only seem to lack pods.
    bool is_complete = false;
    std::optional<absl::Time> waits_since;  // When a pass had first looked at all known pods.
    NamespaceObjects objects;
    Dependents dependents;
    Dependents queue_dependents;      // The names of groups, by facts about their queues.
    std::map<std::string, Pod> pods;  // By UID.
    std::map<std::string, GroupState, std::less<>> groups;
    std::set<std::string> pods_due;  // UIDs of pods to be grouped.
    // UIDs of pods whose grouping lacks an object that does not exist, or was not reported yet.
    std::set<std::string> waiting;
    std::set<std::pair<absl::Time, std::string>> warnings;  // When to warn pods that lack something, with their UIDs.
    std::set<std::string> groups_due;                       // Groups to be served in the next pass.
    DueQueue later;                                         // Groups to be served later.
    ScopeLinks links;
    std::set<std::string> failing;  // Groups whose last write, or the read after it, has failed.
    // UIDs of the pods that wait for the read of a group, by its name.
    std::map<std::string, std::set<std::string>> lookups;
    std::set<std::string> to_publish;  // Groups whose history or published state may have changed.
    // UIDs of the pods that have an Event of a problem, by its text.
    std::map<std::string, std::set<std::string>> reported;
  };
  // The result of the rules for a pod.
  struct Found {
    absl::StatusOr<PodGrouping> grouping = PodGrouping();
    std::set<std::string> facts;         // The facts by which the pod was grouped.
    bool is_waiting = false;             // Whether a fact was not reported yet.
    std::vector<std::string> owners;     // Descriptions for people, the direct owner first; set for Describe::kOwners.
    std::vector<std::string> waits_for;  // The facts that were not reported yet.
    std::vector<std::string> unreadable;
    // The group that the rules would make for the pod, if it names another group and stays with that name.
    std::optional<Grouping> alone;
  };

  // -- namespace_groups.cc --
  Namespace& NamespaceOf(std::string_view ns);
  void Pass(const std::string& ns, Namespace& space);
  void GroupPod(const std::string& ns, Namespace& space, const std::string& uid);
  // Whether groups may be compared with the plans of their members. Updates Namespace::is_complete.
  bool IsComplete(const std::string& ns, Namespace& space);
  enum class Describe { kNothing, kOwners };
  Found FindGrouping(Namespace& space, const kube::v1::Pod& pod, StepBudget& budget,
                     Describe describe = Describe::kNothing) const;
  // Whether the pod stays in the group that it names, although the result of the rules, `found`, is another group.
  bool StaysInItsGroup(const Namespace& space, const kube::v1::Pod& pod, const PodGrouping& found) const;
  static void Join(Namespace& space, const kube::v1::Pod& pod, const std::string& group, const std::string& leaf);
  static void Leave(Namespace& space, const std::string& uid);
  void Depend(const std::string& ns, Namespace& space, const std::string& uid, Dependents::Facts facts) {
    Depend(ns, space, space.dependents, uid, std::move(facts));
  }
  void Depend(const std::string& ns, Namespace& space, Dependents& dependents, const std::string& id,
              Dependents::Facts facts);
  // Does what NoteChanged() does, in all namespaces.
  void NoteChangedEverywhere(const std::set<std::string>& facts);
  // The cluster's definition of groups has changed: all pods and groups are looked at again.
  void TakeForm();
  // Returns the name of the group that the pod names; empty if it names none.
  std::string_view NameOfGroup(const kube::v1::Pod& pod) const;
  // The pod names the group `now` from now on; none if `now` is empty. No pod may be left that names the earlier group.
  void NoteUnnamed(Namespace& space, const std::string& uid, std::string_view now);
  // Makes the pods due that were grouped by these facts, and the groups whose queues were checked by them.
  static void NoteChanged(Namespace& space, const std::set<std::string>& facts);
  // Whether the pod names its group, and its subgroup if the group has that one.
  bool IsLinked(const Namespace& space, const std::string& uid) const;
  // Counts the phase of the pod anew, and whether it is active: it may have ended.
  static void NoteActivity(Namespace& space, const kube::v1::Pod& pod, const std::string& group);
  // The group has changed. `is_news` is false if only its scheduler has written its status.
  void NoteGroup(Namespace& space, const std::string& name, bool is_news);

  // -- group_queues.cc --
  // Returns why the queue of the group, which exists, places nothing; empty if nothing known prevents it. Adds the
  // facts that the answer depends on.
  std::string WhyQueuePlacesNothing(Namespace& space, const ObservedGroup& observed, Dependents::Facts& facts) const;
  // Warns of a problem of the queue that lasts.
  void CheckQueue(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);

  // -- pod_warnings.cc --
  // The reason of the Event on a pod whose group is missing.
  static constexpr std::string_view kGroupMissing = "PodGroupMissing";
  // Notes an object or group that the pod lacks. An Event of that reason reports it if it lasts.
  void NoteMissing(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string why);
  // Warns the pods that have lacked something for kMissingGrace.
  void WarnOfMissing(const std::string& ns, Namespace& space);
  // Reads the group that the pod names, since this worker does not get all groups, and warns if it does not exist. Pods
  // that wait for one group share one read.
  void LookForGroup(const std::string& ns, Namespace& space, const kube::v1::Pod& pod);
  void OnLookup(const std::string& ns, Namespace& space, const std::string& name,
                const absl::StatusOr<gateway::v1::GetResponse>& answer);
  // Has the missing group made that the pod names. Returns false if somebody else makes the group, or if the rules
  // would make no other group for the pod.
  bool MakeAgain(const std::string& ns, Namespace& space, const kube::v1::Pod& pod);
  // Returns the body that creates the group `name`, whose owner is not known any more, for the pod and the others that
  // name the group. Nullopt if the rules would make no other group for the pod.
  std::optional<json::object> OwnerlessObjectFor(Namespace& space, const kube::v1::Pod& pod, const std::string& name);
  std::vector<const kube::v1::Pod*> ActiveThatName(const Namespace& space, const std::string& name) const;
  runtime::ObjectEvents* EventsOf(const std::string& ns, const std::string& uid) const;
  // Records a warning Event on the pod, unless kMostReported other pods have an Event of that problem.
  void RecordOnPod(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  // Does the same on the group's first active member, or else on the first active pod that names the group.
  void RecordOnGroup(const std::string& ns, Namespace& space, const std::string& name, const GroupState& group,
                     std::string_view reason, std::string_view message);
  static void ForgetProblem(Namespace& space, const std::string& problem, const std::string& uid);

  // -- shown.cc --
  // Whether clients get the group: it is observed, or active pods want it.
  static bool IsThere(const Namespace& space, const std::string& name, const GroupState& group);
  // The group is as wanted: notes the decision of a write of unknown outcome, which was carried out.
  void NoteIfCarriedOut(const std::string& ns, const Namespace& space, const std::string& name, GroupState& group);
  void DropIfIdle(Namespace& space, const std::string& name);

  // -- explain.cc --
  std::optional<Explanation> ExplainIn(Namespace& space, std::string_view pod_name) const;
  // `least` is the number of pods that have to run for the group to run.
  static podgroup::v1::GroupMembers MembersOf(const GroupState& group, int64_t least);
  std::vector<std::string> NotesOn(const Grouping& plan) const;
  // Sets `notes` to the problems that keep the pod or the group from being as the rules require.
  void AddObstacles(const Namespace& space, const kube::v1::Pod& pod, const std::string& name, const GroupState& group,
                    std::vector<std::string>& notes) const;

  // -- group_writes.cc --
  void ServeGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // Returns the group as the rules make it for its members. Nullopt if the rules cannot decide now, or not within the
  // budget, which all tried members share.
  std::optional<GroupPlanOfPods> PlanOf(Namespace& space, const GroupState& group, StepBudget& budget) const;
  // Does the same for a group that this pass serves, and counts the steps of the pass.
  std::optional<GroupPlanOfPods> PlanNow(Namespace& space, const GroupState& group);
  RenderedGroup Render(Namespace& space, const GroupPlanOfPods& plan) const;
  // Serves a group without active members: deletes it after a while if it goes with its pods, and if no pod names it,
  // or only pods that are over for good.
  void ServeEmptyGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // Whether we delete the group once it has no pods: rules have made it, and nobody else deletes it. Its form drops
  // empty groups, or it has no owner with which Kubernetes would collect it, because its owner has left its pods
  // behind.
  bool GoesWithItsPods(const ObservedGroup& group) const;
  // Whether the pods that name the group are all over, and their owner wants no others: it is suspended or scaled to
  // zero.
  bool AreOverForGood(Namespace& space, const std::string& name, const GroupState& group) const;
  // Serves a group that is gone, and into which the rules put no active pod any more. If active pods still name the
  // group, it is made again.
  void ServeLostGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  void CreateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  void UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // Serves the group again at that time.
  void WaitUntil(const std::string& ns, Namespace& space, const std::string& name, absl::Time when);
  // Whether the pace holds back the write that leads to `state`. Then the group is served again when the write is due.
  bool WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                const std::string& state);
  // Sets how many pods have to run for the group to run.
  static void TakeLeast(Namespace& space, const std::string& name, GroupState& group, int64_t least);
  // Sets the leaves that the group has, so that members may name them.
  static void TakeLeaves(GroupState& group, std::set<std::string> leaves);
  // Returns the patch that links the pod; nullopt if nothing has to be written.
  std::optional<std::string> LinkOf(const kube::v1::Pod& pod, std::string_view name, const GroupState& group,
                                    const GroupState::Member& member) const;
  // Whether there are active pods that name no group, and whose group is not known yet.
  bool MayBelong(const Namespace& space) const;
  // Ends the failures of the group, since it needs no write.
  static void Succeed(Namespace& space, const std::string& name, GroupState& group);
  // Describes that another program keeps undoing our writes to the group; empty if none does.
  std::string FightOver(const std::string& name, const GroupState& group) const;
  static std::string FightOverLink(const std::string& group);

  // -- GroupWrites::Host --
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
  ObjectInterests& interests_;
  GroupPublisher& publisher_;
  const QueueIndex& queues_;
  RuleOptions rules_;
  const std::unique_ptr<GroupEmitter> emitter_;
  GroupWrites writes_;
  SlotMap<Namespace> namespaces_;
  PriorityClasses priority_classes_;
  KartaSet kartas_;
  KartaWarnings karta_warnings_;
  int64_t pass_steps_ = 0;  // The steps of Kartas' expressions in the present pass.
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
