#pragma once

// The pod group controller: one per worker, confined to the worker's loop. The key is the group's namespace/name; one
// without a name is a namespace, of which namespaces/namespace_groups.h decides (common/kube/group_profile.h).
//
// It acts by nothing that it stores. For a job's group it answers EnsurePodGroup and DeletePodGroup from what it
// observes, one call about a group after the other (job_group_calls.cc); for plain pods it makes the group and binds
// the pods, derived anew from state in every pass, so that a lost answer or a deleted group is simply looked at once
// more (weaknesses W2, W3). What it decides is recorded for people (group_records.h), as is what clients that watch
// were told (shown_groups.cc).
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/reconcile/pace.h"
#include "common/reconcile/retry.h"
#include "common/reconcile/slot_map.h"
#include "common/rpc/peers.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/control/followed_owner.h"
#include "services/pgsvc/control/group_records.h"
#include "services/pgsvc/control/missing_group.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/control/queue_index.h"
#include "services/pgsvc/core/group_decision.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

class PodGroupController : public runtime::Controller {
 public:
  // `context` and `metrics`, which may be null, outlive the controller.
  PodGroupController(runtime::Context& context, GroupingOptions options, const history::Limits& limits = {},
                     obs::Metrics* metrics = nullptr, RuleOptions rules = {});
  ~PodGroupController() override;

  // See podgroup.v1.EnsurePodGroupRequest. UNAVAILABLE while the slot is not this worker's or not ready.
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done);
  // See podgroup.v1.DeletePodGroupRequest; the same.
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done);

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  runtime::Context& context() { return context_; }
  GroupRecords& records() { return records_; }
  runtime::Publisher& publisher() { return publisher_; }
  // The group as people are shown it, by kube::ShownGroupKey; nullopt: there is none, and no pod wants one.
  std::optional<podgroup::v1::PodGroup> Show(std::string_view shown_key) const;
  // Why the pod is in the group of that key. Nothing: it is not, as far as is known.
  std::optional<Explanation> ExplainPlain(std::string_view key, std::string_view pod_name) const;
  // Whether a pod of that name is in the group.
  bool HasPod(std::string_view key, std::string_view pod_name) const;
  // Of the routing key of a namespace; null: the key is that of one group.
  NamespaceGroups* NamespaceGroupsOf(std::string_view routing_key);
  const NamespaceGroups& kai_groups() const { return kai_groups_; }
  const NamespaceGroups& rich_groups() const { return rich_groups_; }
  // Those that Show tells of are seen.
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit);

 private:
  struct Ensure {
    podgroup::v1::EnsurePodGroupRequest request;
    rpc::Done<podgroup::v1::EnsurePodGroupResponse> done;
    absl::Time until;  // By the loop's clock: not begun after that.
  };
  struct Deletion {
    enum class Asked { kNothing, kRead, kDeletion };
    podgroup::v1::DeletePodGroupRequest request;
    rpc::Done<podgroup::v1::DeletePodGroupResponse> done;
    absl::Time until;               // The same.
    Asked asked = Asked::kNothing;  // Of the API server, for this call.
    bool was_read = false;          // What is observed is no older than the call.
  };
  using Waiter = std::variant<Ensure, Deletion>;
  struct Group {
    std::unique_ptr<kube::v1::PodGroup> observed;
    std::unique_ptr<kube::v1::PodGroup> lost;  // As it was seen last, where it is gone.
    GroupPods pods;                            // Plain ones.
    FollowedOwner owner;
    Pace owner_references;    // Somebody else may take them away each time.
    Pace creates;             // For pods: somebody else may delete it each time.
    std::string going_owner;  // UID of the owner of pods that lack the group, which is being deleted or gone.
    absl::Time going_until = absl::InfinitePast();  // So long its pods may go, too, or be left behind.
    std::optional<absl::Time> empty_since;
    bool have_pods_moved = false;  // To other groups, since the last pod came.
    std::string group_maker;       // OwnerFact::group_maker of an owner that was read, as no watch shows it.
    MissingGroup missing;
    QueueProblem queue_problem;
    std::deque<Waiter> waiters;
    bool busy = false;                                        // A write or read of the group itself is under way.
    std::map<std::string, runtime::ObjectEvents> pod_events;  // By UID: of pods that were told of a problem.
    GroupRecord record;
    bool gone = false;                  // The group was seen to go; the end of its history is to be recorded.
    std::optional<GroupDecision> sent;  // What the write under way was decided for, or the last one that is unsure.
    runtime::Shown shown;
    std::string shown_uid;    // Of the group that was shown last; empty: of one that pods want.
    bool is_awaited = false;  // It was shown before the slot was opened, and was neither seen since nor is it gone.
    std::string refusal;      // Why the API server has refused the group or a pod's name of it; empty: it has not.
    Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};  // Weakness W9: capped.
  };

 public:
  // All groups of this worker, by key.
  const SlotMap<Group>& groups() const { return groups_; }

 private:
  // -- job_group_calls.cc --
  // OK: a call about the group may wait here.
  absl::Status CheckCall(const std::string& ns, const std::string& name, const std::string& job_uid) const;
  void Wait(const std::string& key, Waiter waiter);
  // Those whose turn has not come in time.
  void RefuseLate(const std::string& key, Group& group);
  void ServeWaiters(const std::string& key, Group& group);
  void ServeEnsure(const std::string& key, Group& group, const podgroup::v1::EnsurePodGroupRequest& request);
  void ServeDeletion(const std::string& key, Group& group, Deletion& deletion);
  void SendForWaiter(const std::string& key, Group& group, gateway::v1::WriteRequest request, GroupDecision decision);
  void OnGroupWritten(const std::string& key, bool created, runtime::WriteOutcome outcome);
  // What the first waiter makes of a read; `known`: it said whether the group is there.
  static void AnswerFirstCall(const std::string& key, Group& group, bool known);
  // Answers the first waiter.
  static void Finish(Group& group, podgroup::v1::EnsurePodGroupResponse answer);
  static void Finish(Group& group, podgroup::v1::DeletePodGroupResponse answer);
  static void Refuse(Group& group, const absl::Status& why);

  // -- shown_groups.cc --
  // The groups that were shown, which may have gone since.
  absl::StatusOr<std::vector<runtime::KnownObject>> LoadShown(uint32_t slot);
  void PublishState(const std::string& key, Group& group, kv::WriteBatch& batch);
  // Whether people are shown it: it is there, or pods want it.
  static bool IsThere(std::string_view key, const Group& group);

  // -- plain_queues.cc --
  void OnQueue(const kube::v1::Queue& queue, bool gone);
  // What is wrong with the queue of the group that is there; empty: nothing, as far as is known. `asked`: by which.
  std::string WhyQueuePlacesNothing(const kube::v1::PodGroup& group, std::set<std::string>& asked) const;
  // Warns a plain pod of what lasts.
  void CheckQueue(const std::string& key, Group& group);

  // -- explain_plain.cc --
  static const kube::v1::Pod* FindPod(const Group& group, std::string_view pod_name);

  // -- owned_groups.cc --
  void ServeOwner(const std::string& key, Group& group);
  // An owner that no watch shows says something of the group, too, and is being read.
  bool ReadsAnotherOwner(const std::string& key, Group& group);
  // Without its owners the group would be for ever: whoever has taken them away is undone.
  void RestoreOwners(const std::string& key, Group& group);
  // Deletes a group of ours that has been without pods for a while, and for nothing.
  void DeleteEmpty(const std::string& key, Group& group);
  void SendForOwner(const std::string& key, Group& group, gateway::v1::WriteRequest request, GroupDecision decision);
  void OnOwnerWritten(const std::string& key, Group& group, const runtime::WriteOutcome& outcome);

  // Null: the group has its owners, or nobody can say which.
  static const kube::v1::Pod* PodOfLostOwners(const Group& group);
  void SendOwners(const std::string& key, Group& group, const kube::v1::Pod& pod);

  // -- plain_groups.cc --
  void ServePods(const std::string& key, Group& group);
  // `facts`: what is known of the pod's owners so far; the others are read.
  void MakeGroup(const std::string& key, Group& group, const kube::v1::Pod& pod, OwnerFacts facts);
  // Who makes the groups of these pods instead, in words; empty: nobody does.
  static std::string MakerFor(const Group& group);
  // Whether the pod's owner goes, and the pod may go, too, before long.
  bool WaitsForItsOwner(const std::string& key, Group& group, const kube::v1::Pod& pod) const;
  // Nullopt: the owner could not be read.
  using OnOwner = std::function<void(Group& group, std::optional<OwnerFact> fact)>;
  void ReadOwner(const std::string& key, Group& group, std::string_view ns, const OwnerResource& owner, OnOwner then);
  absl::StatusOr<std::string> BodyFor(std::string_view name, const Group& group, const kube::v1::Pod& pod,
                                      const OwnerFacts& facts) const;
  void CreateForPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                    const absl::StatusOr<std::string>& body);
  void Bind(const std::string& key, const kube::v1::Pod& pod);

  // -- pod_group_controller.cc --
  void ReportMissing(const std::string& key, Group& group);
  void Refresh(const std::string& key);
  // Empty: none is known to be there.
  static std::string KnownUidOf(const Group& group);
  // The API server has no group of that name.
  void MergeAbsence(const std::string& key, const Group& group);
  void TryLater(const std::string& key, Group& group);
  void Succeed(const std::string& key, Group& group);
  // Null: the pod is gone, or was told of nothing.
  runtime::ObjectEvents* EventsOf(const std::string& key, const std::string& pod_uid) const;
  // True: it is the first of its series.
  bool RecordOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  void ReportOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod, std::string_view message);
  // To be recorded in a pass that is woken.
  void Note(const std::string& key, Group& group, GroupDecision decision);
  static GroupDecision TakeSent(Group& group) {
    return std::exchange(group.sent, std::nullopt).value_or(GroupDecision());
  }
  // The outcome of `sent` was not known: what the group, as it was read since, says of it.
  void NoteIfCarriedOut(const std::string& key, Group& group);
  // Nobody wants a group of that name, and none is there.
  static bool IsUnwanted(const Group& group);
  void DropIfEmpty(const std::string& key);
  void AgeHistoryLater();

  runtime::Context& context_;
  const GroupingOptions options_;
  SlotMap<Group> groups_;
  runtime::EventRecorder recorder_;
  GroupRecords records_;
  runtime::Publisher publisher_;
  obs::Metrics* const metrics_;
  ObjectInterests interests_;
  GroupOutput output_;
  QueueIndex queues_;
  Dependents queue_dependents_;  // Keys of groups, by the names of queues.
  NamespaceGroups kai_groups_;
  NamespaceGroups rich_groups_;
  TimerId history_timer_ = kNoTimer;
  std::set<std::string, std::less<>> failing_;  // Keys of groups whose last try failed.
};

}  // namespace basalt::pgsvc
