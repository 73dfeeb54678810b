#pragma once

// Groups of pods by the rules of all kinds, in the form of one scheduler (core/form). The key is a namespace
// (kube::NamespaceKey): who belongs together is seen by owners of owners, by labels and by other groups, all of which
// stand in it, so that one worker decides for the whole namespace.
//
// A pod is grouped by the rules (core/grouping) when it comes, and again when something changes that it was grouped by.
// A pass groups so many pods and serves those groups alone whose members or state have changed. Nothing is stored to
// act by; what the API server has is compared with what the rules say. One per worker; confined to the worker's loop.
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
  // How many pods a pass groups at most, and after how many steps of Kartas' expressions it groups no further one and
  // serves no further group: the next pass goes on, and others have their turn before.
  static constexpr size_t kPodsPerPass = 200;
  static constexpr int64_t kStepsPerPass = 200'000;
  // An owner that is deleted is gone some time before its pods are, and what is made together need not come together.
  static constexpr absl::Duration kMissingGrace = absl::Seconds(30);
  // So many pods have an Event of one problem that they share.
  static constexpr size_t kMostReported = 10;
  static constexpr size_t kMostProblems = 10;

  // So long a group may be without pods before it goes, where it holds resources.
  static constexpr absl::Duration kEmptyGrace = absl::Seconds(30);
  // The same while there are pods of which it is not known yet where they belong.
  static constexpr absl::Duration kMostEmptyGrace = absl::Minutes(5);

  // All of them outlive it. `queues`: Volcano's.
  NamespaceGroups(runtime::Context& context, ObjectInterests& interests, GroupPublisher& publisher,
                  const QueueIndex& queues, RuleOptions rules, std::unique_ptr<GroupEmitter> emitter);

  void OpenSlot(uint32_t slot) override { namespaces_.Open(slot); }
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view key, kube::v1::Object&& object) override;
  void OnGone(std::string_view key, const runtime::Gone& gone) override;
  // Priority classes, Kartas, the definition of groups, and objects that rules have asked for.
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void OnQueues(const std::set<std::string>& names) override;
  void RetryFailed() override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  std::optional<podgroup::v1::PodGroup> Show(std::string_view key, std::string_view name) const override;
  std::string_view GroupOf(std::string_view key, std::string_view pod_name) const override;
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit) const override;
  void AddShownKeys(uint32_t slot, std::set<std::string>& keys) const override;
  void LoadShown(uint32_t slot, const std::string& shown_key, const storage::v1::PublishedObject& record,
                 std::vector<runtime::KnownObject>& known) override;
  void VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const override;
  std::optional<Explanation> Explain(std::string_view key, std::string_view pod_name) const override;

 private:
  struct Pod {
    std::string group;    // Empty: it is in none, or it is not known yet in which.
    std::string missing;  // What the pod's group needs and is not there, or that the group is not, in words.
    std::string_view missing_reason;
    absl::Time missing_since = absl::InfiniteFuture();
    PodLink link;
    std::deque<std::string> problems;  // That the pod has Events of: the newest kMostProblems.
    runtime::ObjectEvents events;
  };
  struct Namespace {
    explicit Namespace(const GroupEmitter& emitter) : objects(emitter) {}

    // Everything that was there when the namespace came here was grouped once: what a group lacks until then may be a
    // pod that is not looked at yet.
    bool is_settled = false;
    std::optional<absl::Time> waits_since;  // The first pass that had looked at all of them.
    NamespaceObjects objects;
    Dependents dependents;
    Dependents queue_dependents;      // Groups, by their names: of what is wrong with their queues.
    std::map<std::string, Pod> pods;  // By UID.
    std::map<std::string, GroupState, std::less<>> groups;
    std::set<std::string> pods_due;  // UIDs: to be grouped.
    // UIDs of pods of which something is not there, or was not told yet.
    std::set<std::string> waiting;
    std::set<std::pair<absl::Time, std::string>> warnings;  // When pods that lack something are to be told, by UID.
    std::set<std::string> groups_due;                       // Groups to be served in the next pass.
    DueQueue later;                                         // Groups to be served later.
    ScopeLinks links;
    std::set<std::string> failing;                          // Groups whose last write was refused.
    std::map<std::string, std::set<std::string>> lookups;   // By the name of a group that is asked for, UIDs of pods.
    std::set<std::string> to_publish;                       // Groups of which people may be shown something else.
    std::map<std::string, std::set<std::string>> reported;  // By problem, UIDs of pods that have an Event of it.
  };
  // What the rules say of a pod.
  struct Found {
    absl::StatusOr<PodGrouping> grouping = PodGrouping();
    std::set<std::string> facts;
    bool is_waiting = false;
    std::vector<std::string> owners;     // Descriptions, the pod's own first; for people alone.
    std::vector<std::string> waits_for;  // Facts.
    std::vector<std::string> unreadable;
    // The group that the rules would make for the pod, which names another group and stays with that name.
    std::optional<Grouping> alone;
  };

  // -- namespace_groups.cc --
  Namespace& NamespaceOf(std::string_view ns);
  void Pass(const std::string& ns, Namespace& space);
  void GroupPod(const std::string& ns, Namespace& space, const std::string& uid);
  // Whether groups may be compared with what their members ask for.
  bool IsSettled(const std::string& ns, Namespace& space);
  enum class Describe { kNothing, kOwners };
  Found FindGrouping(Namespace& space, const kube::v1::Pod& pod, StepBudget& budget,
                     Describe describe = Describe::kNothing) const;
  // The pod names another group than the rules say, and stays there. `found`: what they say.
  bool StaysInItsGroup(const Namespace& space, const kube::v1::Pod& pod, const PodGrouping& found) const;
  static void Join(Namespace& space, const kube::v1::Pod& pod, const std::string& group, const std::string& leaf);
  static void Leave(Namespace& space, const std::string& uid);
  void Depend(const std::string& ns, Namespace& space, const std::string& uid, Dependents::Facts facts) {
    Depend(ns, space, space.dependents, uid, std::move(facts));
  }
  void Depend(const std::string& ns, Namespace& space, Dependents& dependents, const std::string& id,
              Dependents::Facts facts);
  // The same in all namespaces.
  void NoteChangedEverywhere(const std::set<std::string>& facts);
  // Of the cluster's definition of groups: all is looked at again where it has changed.
  void TakeForm();
  // Empty: the pod names none.
  std::string_view NameOfGroup(const kube::v1::Pod& pod) const;
  // The pod names `now` from now on: the group that it has named may have no pod any more.
  void NoteUnnamed(Namespace& space, const std::string& uid, std::string_view now);
  // Pods that were grouped by these are due, and groups whose queue was looked at by them.
  static void NoteChanged(Namespace& space, const std::set<std::string>& facts);
  // Whether the pod names its group, and its subgroup as far as the group has that one.
  bool IsLinked(const Namespace& space, const std::string& uid) const;
  // The pod may have ended.
  static void NoteActivity(Namespace& space, const kube::v1::Pod& pod, const std::string& group);
  // Whether the group itself is otherwise than before, or only what its scheduler says of it.
  void NoteGroup(Namespace& space, const std::string& name, bool is_news);

  // -- group_queues.cc --
  // What is wrong with the queue of the group that is there; empty: nothing, as far as is known. `facts`: by which.
  std::string WhyQueuePlacesNothing(Namespace& space, const ObservedGroup& observed, Dependents::Facts& facts) const;
  // Warns of what lasts.
  void CheckQueue(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);

  // -- pod_warnings.cc --
  // Reason of an Event.
  static constexpr std::string_view kGroupMissing = "PodGroupMissing";
  // Told as an Event of that reason if it lasts.
  void NoteMissing(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string why);
  void WarnOfMissing(const std::string& ns, Namespace& space);
  // Warns if the group that the pod names is not there either where it is not told of here. Pods that wait for one
  // group share one look.
  void LookForGroup(const std::string& ns, Namespace& space, const kube::v1::Pod& pod);
  void OnLookup(const std::string& ns, Namespace& space, const std::string& name,
                const absl::StatusOr<gateway::v1::GetResponse>& answer);
  // Has the group made that the pod names and that is not there. False: somebody else makes the group, or the rules
  // would make no other one for the pod.
  bool MakeAgain(const std::string& ns, Namespace& space, const kube::v1::Pod& pod);
  // The body that creates the group `name`, whose owner is not known any more, for that pod and the others that name
  // the group. Nullopt: the rules would make no other group for the pod.
  std::optional<json::object> OwnerlessObjectFor(Namespace& space, const kube::v1::Pod& pod, const std::string& name);
  std::vector<const kube::v1::Pod*> ActiveThatName(const Namespace& space, const std::string& name) const;
  runtime::ObjectEvents* EventsOf(const std::string& ns, const std::string& uid) const;
  // Records a warning Event on the pod; of one problem kMostReported pods have one.
  void RecordOnPod(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  // The same on the group's first active pod, or else on the first that names the group.
  void RecordOnGroup(const std::string& ns, Namespace& space, const std::string& name, const GroupState& group,
                     std::string_view reason, std::string_view message);
  static void ForgetProblem(Namespace& space, const std::string& problem, const std::string& uid);

  // -- shown.cc --
  static bool IsThere(const Namespace& space, const std::string& name, const GroupState& group);
  // Nothing differs from what was wanted: a write with an unknown outcome was carried out.
  void NoteIfCarriedOut(const std::string& ns, const Namespace& space, const std::string& name, GroupState& group);
  void DropIfIdle(Namespace& space, const std::string& name);

  // -- explain.cc --
  std::optional<Explanation> ExplainIn(Namespace& space, std::string_view pod_name) const;
  // `least`: how many pods have to run for the group to run.
  static podgroup::v1::GroupMembers MembersOf(const GroupState& group, int64_t least);
  std::vector<std::string> NotesOn(const Grouping& plan) const;
  // What keeps the pod from being in the group as the rules say.
  void AddObstacles(const Namespace& space, const kube::v1::Pod& pod, const std::string& name, const GroupState& group,
                    std::vector<std::string>& notes) const;

  // -- group_writes.cc --
  void ServeGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // Nothing where the rules cannot say it now, or not within the budget, which the members that are asked share.
  std::optional<GroupPlanOfPods> PlanOf(Namespace& space, const GroupState& group, StepBudget& budget) const;
  // The same of a group that this pass serves.
  std::optional<GroupPlanOfPods> PlanNow(Namespace& space, const GroupState& group);
  RenderedGroup Render(Namespace& space, const GroupPlanOfPods& plan) const;
  // A group of ours in which no pod is active, and that no pod names, or none that will be active.
  void ServeEmptyGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // The group is one of ours that nobody else deletes once no pod is in it: its owner, with which Kubernetes would
  // collect it, has left its pods behind, or the form drops empty groups.
  bool GoesWithItsPods(const ObservedGroup& group) const;
  // The pods that name the group are all over, and their owner wants no others: it is suspended or scaled to zero.
  bool AreOverForGood(Namespace& space, const std::string& name, const GroupState& group) const;
  // The group is gone, and so is what its members were grouped by: pods that name it have it made again.
  void ServeLostGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  void CreateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  void UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group);
  // Serves the group again at that time.
  void WaitUntil(const std::string& ns, Namespace& space, const std::string& name, absl::Time when);
  // Whether that write of the group is not due yet; the group is served again when it is.
  bool WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                const std::string& state);
  // So many pods have to run for the group to run.
  static void TakeLeast(Namespace& space, const std::string& name, GroupState& group, int64_t least);
  // The group has these leaves: members may name them.
  static void TakeLeaves(GroupState& group, std::set<std::string> leaves);
  // Nullopt if nothing has to be written on the pod.
  std::optional<std::string> LinkOf(const kube::v1::Pod& pod, std::string_view name, const GroupState& group,
                                    const GroupState::Member& member) const;
  // There are pods of which it is not known yet where they belong.
  bool MayBelong(const Namespace& space) const;
  static void Succeed(Namespace& space, const std::string& name, GroupState& group);
  // Empty if nobody undoes what is written of the group.
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
  int64_t pass_steps_ = 0;  // Of the pass that is under way.
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
