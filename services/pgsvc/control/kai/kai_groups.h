#pragma once

// Groups of pods that KAI's scheduler places. The key is a namespace: who belongs together is seen by owners of owners,
// by labels and by other groups, all of which stand in it, so that one worker decides for the whole namespace.
//
// A pod is grouped by the rules (core/grouping) when it comes, and again when something changes that it was grouped by.
// A pass groups so many pods and serves those groups alone whose members or state have changed. Nothing is stored to
// act by; what the API server has is compared with what the rules say. One per worker; confined to the worker's loop.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/grouping.pb.h"
#include "common/reconcile/retry.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "services/pgsvc/control/kai/dependents.h"
#include "services/pgsvc/control/kai/kai_group_state.h"
#include "services/pgsvc/control/kai/namespace_objects.h"
#include "services/pgsvc/core/grouping/group_pod.h"
#include "services/pgsvc/core/kai/group_form.h"

namespace basalt::pgsvc {

class KaiGroups {
 public:
  // How many pods a pass groups at most: the next pass goes on.
  static constexpr size_t kPodsPerPass = 200;
  // An owner that is deleted is gone some time before its pods are, and what is made together need not come together.
  static constexpr absl::Duration kMissingGrace = absl::Seconds(30);
  // So many pods have an Event of one problem that they share.
  static constexpr size_t kMostReported = 10;
  static constexpr size_t kMostProblems = 10;

  // The context outlives it.
  KaiGroups(runtime::Context& context, RuleOptions rules);

  // Whether a routing key is a namespace, and not the name of a group.
  static bool IsFor(std::string_view key) { return key.find('/') == std::string_view::npos; }

  void OpenSlot(uint32_t slot) { namespaces_.Open(slot); }
  void CloseSlot(uint32_t slot);
  void OnState(std::string_view ns, kube::v1::Object&& object);
  void OnGone(std::string_view ns, const runtime::Gone& gone);
  // Priority classes, Kartas, the definition of groups, and objects that were asked for.
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone);
  void Act(std::string_view ns);

  // Why a pod is in its group, derived anew from what is known now.
  struct Explanation {
    absl::StatusOr<PodGrouping> found;
    std::vector<std::string> owners;  // "ReplicaSet default/web-1", the pod's own first.
    std::vector<std::string> waits_for;
    std::vector<std::string> unreadable;
    std::optional<Grouping> plan = {};  // Of all pods of the group; nothing: the pod is in none.
    bool is_there = false;              // Kubernetes has the group.
    std::vector<std::string> differing_fields = {};
    podgroup::v1::GroupMembers members = {};
    std::vector<std::string> notes = {};  // What follows from the plan and is easily missed.
  };
  // Nothing: there is no such pod for a scheduler of KAI's.
  std::optional<Explanation> Explain(std::string_view ns, std::string_view pod_name) const;

 private:
  struct Pod {
    std::string group;    // Empty: it is in none, or it is not known yet in which.
    std::string missing;  // What the pod's group needs and is not there, or that the group is not, in words.
    std::string_view missing_reason;
    absl::Time missing_since = absl::InfiniteFuture();
    Retry link_retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};
    Pace links;                        // Somebody else may undo it each time.
    std::deque<std::string> problems;  // That the pod has Events of: the newest kMostProblems.
    runtime::ObjectEvents events;
  };
  struct Namespace {
    // Everything that was there when the namespace came here was grouped once: what a group lacks until then may be a
    // pod that is not looked at yet.
    bool is_settled = false;
    std::optional<absl::Time> waits_since;  // The first pass that had looked at all of them.
    NamespaceObjects objects;
    Dependents dependents;
    std::map<std::string, Pod> pods;  // By UID.
    std::map<std::string, KaiGroupState, std::less<>> groups;
    std::set<std::string> pods_due;  // UIDs: to be grouped.
    // UIDs of pods of which something is not there, or was not told yet.
    std::set<std::string> waiting;
    std::set<std::pair<absl::Time, std::string>> warnings;  // When pods that lack something are to be told, by UID.
    std::set<std::string> groups_due;                       // To be served.
    std::map<std::string, std::set<std::string>> reported;  // By problem, UIDs of pods that have an Event of it.
  };
  // What the rules say of a pod.
  struct Found {
    absl::StatusOr<PodGrouping> grouping = PodGrouping();
    std::set<std::string> facts;
    bool is_waiting = false;
    std::vector<std::string> owners;     // Descriptions, the pod's own first.
    std::vector<std::string> waits_for;  // Facts.
    std::vector<std::string> unreadable;
  };

  // -- kai_groups.cc --
  Namespace& NamespaceOf(std::string_view ns);
  void Pass(const std::string& ns, Namespace& space);
  void GroupPod(const std::string& ns, Namespace& space, const std::string& uid);
  // Told as an Event of that reason if it lasts.
  void NoteMissing(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string why);
  void WarnOfMissing(const std::string& ns, Namespace& space);
  // Whether groups may be compared with what their members ask for.
  bool IsSettled(const std::string& ns, Namespace& space);
  Found FindGrouping(Namespace& space, const kube::v1::Pod& pod) const;
  static void Join(Namespace& space, const kube::v1::Pod& pod, const std::string& group, const std::string& leaf);
  static void Leave(Namespace& space, const std::string& uid);
  void Depend(const std::string& ns, Namespace& space, const std::string& uid, Dependents::Facts facts);
  // The same in all namespaces.
  void NoteChangedEverywhere(const std::set<std::string>& facts);
  // Of the cluster's definition of groups: all is looked at again where it has changed.
  void TakeForm(KaiGroupForm form);
  // Pods that were grouped by these are due.
  static void NoteChanged(Namespace& space, const std::set<std::string>& facts);
  // Whether the pod names its group, and its subgroup as far as the group has that one.
  static bool IsLinked(const Namespace& space, const std::string& uid);
  // The pod may have ended.
  static void NoteActivity(Namespace& space, const kube::v1::Pod& pod, const std::string& group);
  static void NoteGroup(Namespace& space, const std::string& name);

  // -- explain.cc --
  // `least`: how many pods have to run for the group to run.
  static podgroup::v1::GroupMembers MembersOf(const Namespace& space, const KaiGroupState& group, int64_t least);
  std::vector<std::string> NotesOn(const Grouping& plan) const;

  // -- kai_group_writes.cc --
  void ServeGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group);
  // Nothing where the rules cannot say it now.
  std::optional<Grouping> PlanOf(Namespace& space, const KaiGroupState& group) const;
  void CreateGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group);
  void UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group);
  // Whether that write of the group or of a member is not due yet; the group is served again when it is.
  bool WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                const std::string& state);
  // The group has these leaves: members may name them.
  static void TakeLeaves(KaiGroupState& group, std::set<std::string> leaves);
  // Nullopt: nothing is to be written on the pod.
  static std::optional<std::string> LinkPatchOf(const kube::v1::Pod& pod, std::string_view name,
                                                const KaiGroupState& group, const KaiGroupState::Member& member);
  void LinkPods(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group);
  void OnPodLinked(const std::string& ns, const std::string& name, const std::string& uid, const std::string& wanted,
                   const runtime::WriteOutcome& outcome);
  // `is_stale`: the refusal says that what is known of the group is not so any more.
  void OnGroupWritten(const std::string& ns, const std::string& name, bool is_stale,
                      const runtime::WriteOutcome& outcome);
  void Refresh(const std::string& ns, const std::string& name);
  void TryLater(const std::string& ns, KaiGroupState& group);

  runtime::ObjectEvents* EventsOf(const std::string& ns, const std::string& uid) const;
  // Records a warning Event on the pod; of one problem kMostReported pods have one.
  void RecordOnPod(const std::string& ns, Namespace& space, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  // The same on the group's first active pod.
  void RecordOnGroup(const std::string& ns, Namespace& space, const KaiGroupState& group, std::string_view reason,
                     std::string_view message);

  static void ForgetProblem(Namespace& space, const std::string& problem, const std::string& uid);

  runtime::Context& context_;
  RuleOptions rules_;
  KaiGroupForm form_;
  SlotMap<Namespace> namespaces_;
  PriorityClasses priority_classes_;
  KartaSet kartas_;
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
