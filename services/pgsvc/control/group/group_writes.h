#pragma once

// Writes groups of one kind, reads what became of a write, and links pods to their groups: for each group at most one
// write or read at a time. An answer that comes after the group or its slot has gone is dropped. Confined to the
// worker's loop; no call may be repeated.
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

// What is done next for a group.
struct GroupStep {
  enum class Kind : uint8_t { kNothing, kCreate, kPatch, kDelete } kind = Kind::kNothing;
  std::string uid = {};   // kPatch and kDelete: UID of the group; another group of the name is left alone.
  std::string body = {};  // kCreate: the object. kPatch: a JSON merge patch.
  GroupDecision decision = {};
  std::string state = {};      // Names the result, for the pace of updates; empty if the step has no pace.
  bool is_for_caller = false;  // A caller gets the answer, and tries again: the group's retry and pace stay out of it.
};

// How the step ended.
struct GroupAnswer {
  Meaning meaning = Meaning::kSucceeded;  // kLook: a read follows, which tells what is there now.
  bool is_reported = false;               // The refusal is one that people are to hear of.
  runtime::WriteOutcome outcome;
};

// Whether a pod has to be linked now.
struct LinkStep {
  enum class Kind : uint8_t {
    kNone,   // The pod names its group, or is not to name it.
    kLater,  // Something has to happen before: the pod stays due.
    kNow,
  } kind = Kind::kNone;
  const kube::v1::Pod* pod = nullptr;
  PodLink* link = nullptr;
  std::string patch = {};  // A JSON merge patch of the pod.
  std::string state = {};  // Names the result, for the pace.
};

class GroupWrites {
 public:
  // Who plans the groups.
  class Host {
   public:
    virtual ~Host() = default;
    // Null if nobody keeps the group any more.
    virtual GroupEntry* FindEntry(const GroupRef& group) = 0;
    // Null if Kubernetes has no such group, as far as this process has observed.
    virtual const kube::v1::ObjectMeta* FindMeta(const GroupRef& group) const = 0;
    // Another part of the suite keeps the group that was read.
    virtual bool IsKeptElsewhere(const kube::v1::Object&) const { return false; }
    // The history or the published state of the group has changed: a pass records the change.
    virtual void Publish(const GroupRef& group) = 0;
    // The same, and the group is looked at again in the next pass.
    virtual void Touch(const GroupRef& group) = 0;
    // The group is looked at again at that time.
    virtual void TouchAt(const GroupRef& group, absl::Time when) = 0;
    // The step has ended, and its decision or refusal is noted. A read follows where the answer means kLook.
    virtual void OnAnswer(const GroupRef& group, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) = 0;
    // The group was read, and what was found went through OnState or OnGone. kDone: it is there; kNotFound: it is not.
    virtual void OnRead(const GroupRef& group, GroupEntry& entry, Answer answer, const kube::v1::Object* found) = 0;

    virtual ScopeLinks* FindScopeLinks(const std::string& scope) = 0;
    virtual LinkStep NextLink(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid) = 0;
    // Null if the pod is gone.
    virtual PodLink* FindLink(const GroupRef& group, const std::string& pod_uid) = 0;
    // The patch of the pod was answered: records what people are to hear of.
    virtual void OnLinked(const GroupRef& group, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                          Meaning meaning) = 0;
  };

  // The context and the host outlive it.
  GroupWrites(runtime::Context& context, const kube::Kind& kind, Host& host)
      : context_(context), kind_(kind), host_(host) {}

  // Requires that the entry is not busy.
  void CarryOut(const GroupRef& group, GroupEntry& entry, GroupStep step);
  // Reads the group, so that a conflict or a lost answer is resolved by what the API server says now. Requires that the
  // entry is not busy.
  void Refresh(const GroupRef& group, GroupEntry& entry);
  // Reads something else that the next step depends on. Requires that the entry is not busy.
  using OnRead = std::function<void(GroupEntry& entry, const absl::StatusOr<gateway::v1::GetResponse>& response)>;
  void Read(const GroupRef& group, GroupEntry& entry, gateway::v1::GetRequest request, OnRead done);
  // Sends the patches of the pods that are due, as far as the bound of the scope allows.
  void LinkPods(const GroupRef& group, GroupEntry& entry);
  // Touches groups that wait for that bound, as many as the bound allows. At the end of each pass of the scope.
  void TouchWaiting(const std::string& scope, ScopeLinks& links);
  // Recorded in the next pass.
  void Note(const GroupRef& group, GroupEntry& entry, GroupDecision decision);

 private:
  void OnWritten(const GroupRef& group, const GroupStep& step, runtime::WriteOutcome outcome);
  void OnLinked(const GroupRef& group, const std::string& pod_uid, const std::string& state,
                const runtime::WriteOutcome& outcome);
  void SendLink(const GroupRef& group, const std::string& pod_uid, LinkStep step);
  // Empty if no group is known to be there.
  std::string KnownUid(const GroupRef& group, const GroupEntry& entry) const;
  // The group as MergeAnswer takes one that is gone.
  kube::v1::Object LastSeen(const GroupRef& group, const GroupEntry& entry) const;

  runtime::Context& context_;
  const kube::Kind& kind_;
  Host& host_;
};

}  // namespace basalt::pgsvc
