#pragma once

// Writes groups of one kind, reads a group whose write had an unclear outcome, and links pods to their groups: a pod is
// linked by a patch that names the group. Each group has at most one write or read under way. An answer is dropped if
// the group or its slot has gone meanwhile. Confined to the worker's loop. No call may be repeated.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/kinds.h"
#include "common/reconcile/effect.h"
#include "common/runtime/controller.h"
#include "services/pgsvc/control/group/group_entry.h"

namespace basalt::pgsvc {

// The next write of a group.
struct GroupStep {
  enum class Kind : uint8_t { kNothing, kCreate, kPatch, kDelete } kind = Kind::kNothing;
  std::string uid = {};   // For kPatch and kDelete: UID of the group. Another group of the name is left alone.
  std::string body = {};  // For kCreate: the object. For kPatch: a JSON merge patch.
  // The decision to record if the write succeeds. If it is refused, the refusal of this decision is recorded.
  GroupDecision decision = {};
  std::string state = {};  // Names the resulting state, for the pace of updates; empty if the step has no pace.
  // Whether a caller waits for the answer and tries again by itself. Then the group's retry and pace ignore the step.
  bool is_for_caller = false;
};

// The end of a step.
struct GroupAnswer {
  Meaning meaning = Meaning::kSucceeded;  // kLook means that a read of the group follows.
  bool is_reported = false;               // Whether the write was refused, and people have to know.
  runtime::WriteOutcome outcome;
};

// The next step to link a pod.
struct LinkStep {
  enum class Kind : uint8_t {
    kNone,   // The pod names its group already, or must not name it.
    kLater,  // The pod cannot be linked yet, and stays due.
    kNow,    // `patch` is to be sent. The other members are set only for kNow.
  } kind = Kind::kNone;
  const kube::v1::Pod* pod = nullptr;
  PodLink* link = nullptr;
  std::string patch = {};  // A JSON merge patch of the pod.
  std::string state = {};  // Names the resulting state, for the pace.
};

class GroupWrites {
 public:
  // The profile, which plans the groups and keeps their entries.
  class Host {
   public:
    virtual ~Host() = default;
    // Returns null if the profile keeps no entry of the group any more.
    virtual GroupEntry* FindEntry(const GroupRef& group) = 0;
    // Returns null if Kubernetes has no such group, as far as this process has observed.
    virtual const kube::v1::ObjectMeta* FindMeta(const GroupRef& group) const = 0;
    // Whether the group that was read belongs to another part of the suite, so that the read must not be merged here.
    virtual bool IsKeptElsewhere(const kube::v1::Object&) const { return false; }
    // Requests a pass that records a change of the group's history or published state.
    virtual void Publish(const GroupRef& group) = 0;
    // Does the same, and has the next pass look at the group again.
    virtual void Touch(const GroupRef& group) = 0;
    // Has a pass look at the group again at that time.
    virtual void TouchAt(const GroupRef& group, absl::Time when) = 0;
    // The step has ended, and its decision or refusal is noted. A read follows if the answer means kLook.
    virtual void OnAnswer(const GroupRef& group, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) = 0;
    // The group was read, and the result has come through OnState or OnGone. `answer` is kDone if the group exists, and
    // kNotFound if it does not. `found` is null unless the group exists.
    virtual void OnRead(const GroupRef& group, GroupEntry& entry, Answer answer, const kube::v1::Object* found) = 0;

    // Returns null if the scope is gone.
    virtual ScopeLinks* FindScopeLinks(const std::string& scope) = 0;
    virtual LinkStep NextLink(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid) = 0;
    // Returns null if the pod is gone.
    virtual PodLink* FindLink(const GroupRef& group, const std::string& pod_uid) = 0;
    // The patch of the pod was answered. Reports to people if there is a problem.
    virtual void OnLinked(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                          Meaning meaning) = 0;
  };

  // The context, the kind and the host outlive this object.
  GroupWrites(runtime::Context& context, const kube::Kind& kind, Host& host)
      : context_(context), kind_(kind), host_(host) {}

  // Sends the write of the step. Requires that the entry is not busy, unless the step is kNothing.
  void CarryOut(const GroupRef& group, GroupEntry& entry, GroupStep step);
  // Reads the group, to resolve a conflict or a lost answer by the present state. Requires that the entry is not busy.
  void Refresh(const GroupRef& group, GroupEntry& entry);
  // Reads another object that the next step depends on. Requires that the entry is not busy.
  using OnRead = std::function<void(GroupEntry& entry, const absl::StatusOr<gateway::v1::GetResponse>& response)>;
  void Read(const GroupRef& group, GroupEntry& entry, gateway::v1::GetRequest request, OnRead done);
  // Sends the patches of the pods that are due, up to the limit of the scope. The other pods stay due.
  void LinkPods(const GroupRef& group, GroupEntry& entry);
  // Touches groups that wait for that limit, as many as it allows. The profile calls this at the end of each pass of
  // the scope.
  void TouchWaiting(const std::string& scope, ScopeLinks& links);
  // Notes a decision, which the next pass records.
  void Note(const GroupRef& group, GroupEntry& entry, GroupDecision decision);

 private:
  void OnWritten(const GroupRef& group, const GroupStep& step, runtime::WriteOutcome outcome);
  void OnLinked(const GroupRef& group, const std::string& pod_uid, const std::string& state,
                const runtime::WriteOutcome& outcome);
  void SendLink(const GroupRef& group, const std::string& pod_uid, LinkStep step);
  // Returns the UID of the group; empty if no group is known to exist.
  std::string KnownUid(const GroupRef& group, const GroupEntry& entry) const;
  // Returns the last known state of the group, for Context::MergeAnswer with `gone`.
  kube::v1::Object LastSeen(const GroupRef& group, const GroupEntry& entry) const;

  runtime::Context& context_;
  const kube::Kind& kind_;
  Host& host_;
};

}  // namespace basalt::pgsvc
