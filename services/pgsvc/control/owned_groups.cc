// The group of pods with an owner: what is sent for the owner, and what becomes of it.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/group_requests.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/empty_group.h"

namespace basalt::pgsvc {
namespace {

// For so long a group without pods is left alone: somebody may be about to give it one.
constexpr absl::Duration kEmptyLasts = absl::Seconds(30);

}  // namespace

void PodGroupController::ServeOwner(const std::string& key, Group& group) {
  if (group.observed == nullptr || group.busy || !group.waiters.empty() || !group.owner.IsDue(*group.observed)) return;
  if (group.owner.retry().Blocks(context_.ApiNow())) return context_.WakeAt(key, group.owner.retry().until());
  if (ReadsAnotherOwner(key, group)) return;
  FollowedOwner::Step step = group.owner.NextStep(*group.observed, group.pods, options_);
  if (!step.warning.empty()) RecordOnPod(key, group, *step.pod, "PodGroupWarning", step.warning);
  if (step.kind == FollowedOwner::Step::Kind::kNothing) return;
  const std::string& uid = group.observed->meta().uid();
  const bool is_update = step.kind == FollowedOwner::Step::Kind::kUpdate;
  SendForOwner(key, group, is_update ? GroupPatch(key, uid, std::move(step.patch)) : GroupDeletion(key, uid),
               std::move(step.decision));
}

bool PodGroupController::ReadsAnotherOwner(const std::string& key, Group& group) {
  if (!options_.inherit_owner_annotations) return false;
  const std::optional<OwnerResource> other = group.owner.NextToRead(group.pods);
  if (!other) return false;
  ReadOwner(key, group, kube::SplitKey(key).ns, *other,
            [this, key, uid = other->uid](Group& read, std::optional<OwnerFact> fact) {
              if (fact) {
                read.owner.OnRead(uid, *std::move(fact));
              } else {
                read.owner.Fail(context_.ApiNow(), context_.random());
              }
              context_.Wake(key);
            });
  return true;
}

void PodGroupController::SendForOwner(const std::string& key, Group& group, gateway::v1::WriteRequest request,
                                      GroupDecision decision) {
  group.busy = true;
  group.sent = std::move(decision);
  context_.Write(key, std::move(request), [this, key](const runtime::WriteOutcome& outcome) {
    Group* const written = groups_.Find(key);
    if (written == nullptr) return;
    written->busy = false;
    OnOwnerWritten(key, *written, outcome);
  });
}

const kube::v1::Pod* PodGroupController::PodOfLostOwners(const Group& group) {
  if (group.observed == nullptr) return nullptr;
  const kube::v1::ObjectMeta& meta = group.observed->meta();
  if (!meta.owner_references().empty() || meta.deletion_ms() != 0) return nullptr;
  const GroupPods::All& pods = group.pods.all();
  const auto own = std::find_if(pods.begin(), pods.end(), [&meta](const auto& pod) {
    return IsActive(pod.second) && GroupName(pod.second) == meta.name();
  });
  return own == pods.end() ? nullptr : &own->second;
}

// An owner that is deleted and leaves its pods behind takes its references away itself, from the group maybe before it
// does from a pod. To tell this from somebody's hand the owner is read: watches show both in any order.
void PodGroupController::RestoreOwners(const std::string& key, Group& group) {
  if (group.busy || !group.waiters.empty()) return;
  const kube::v1::Pod* const pod = PodOfLostOwners(group);
  if (pod == nullptr) return;
  const kube::v1::Workload* const shown = group.owner.Find(pod->owner_uid());
  if (shown != nullptr && FactOf(*shown).is_going) return;
  const std::string patch = OwnerReferencesPatch(*pod);
  if (group.owner_references.Blocks(context_.ApiNow(), patch)) {
    return context_.WakeAt(key, group.owner_references.Until(patch));
  }
  group.owner_references.Note(context_.ApiNow(), patch);
  const std::vector<OwnerResource> owners = AnnotatedOwners(*pod);
  const auto controller = std::find_if(owners.begin(), owners.end(),
                                       [pod](const OwnerResource& owner) { return owner.uid == pod->owner_uid(); });
  if (controller == owners.end()) return SendOwners(key, group, *pod);
  ReadOwner(key, group, pod->namespace_(), *controller,
            [this, key, uid = pod->uid()](Group& read, std::optional<OwnerFact> fact) {
              const kube::v1::Pod* const still = PodOfLostOwners(read);
              const bool is_restored = fact && !fact->is_going && still != nullptr && still->uid() == uid;
              return is_restored ? SendOwners(key, read, *still) : context_.Wake(key);
            });
}

void PodGroupController::SendOwners(const std::string& key, Group& group, const kube::v1::Pod& pod) {
  const std::string& group_uid = group.observed->meta().uid();
  group.busy = true;
  group.sent = GroupDecision{.kind = GroupDecision::Kind::kUpdated,
                             .uid = group_uid,
                             .asked_by = CreationFor(pod).asked_by,
                             .fields = {"ownerReferences"}};
  context_.Write(key, GroupPatch(key, group_uid, OwnerReferencesPatch(pod)),
                 [this, key](const runtime::WriteOutcome& outcome) {
                   Group* const written = groups_.Find(key);
                   if (written == nullptr) return;
                   written->busy = false;
                   GroupDecision sent = TakeSent(*written);
                   using Kind = runtime::WriteOutcome::Kind;
                   if (outcome.kind == Kind::kDone) return Note(key, *written, std::move(sent));
                   // The pace says when it is tried again; what is there now is read where nobody knows.
                   if (outcome.kind == Kind::kUnknown) return Refresh(key);
                   context_.Wake(key);
                 });
}

void PodGroupController::DeleteEmpty(const std::string& key, Group& group) {
  const bool is_empty = group.observed != nullptr && group.pods.empty() &&
                        IsForNothing({.group = *group.observed,
                                      .owner = group.owner.workload(),
                                      .are_workloads_shown = options_.follow_workloads,
                                      .have_pods_moved = group.have_pods_moved});
  if (!is_empty) {
    group.empty_since.reset();
    return;
  }
  if (group.busy || !group.waiters.empty()) return;
  const absl::Time now = context_.ApiNow();
  if (!group.empty_since) group.empty_since = now;
  const absl::Time due = std::max(*group.empty_since + kEmptyLasts, group.owner.retry().until());
  if (now < due) return context_.WakeAt(key, due);
  const std::string& uid = group.observed->meta().uid();
  SendForOwner(key, group, GroupDeletion(key, uid),
               {.kind = GroupDecision::Kind::kDeleted,
                .uid = uid,
                .asked_by = "pgsvc",
                .message = "no pod is in the group, and none names it"});
}

void PodGroupController::OnOwnerWritten(const std::string& key, Group& group, const runtime::WriteOutcome& outcome) {
  using Kind = runtime::WriteOutcome::Kind;
  if (outcome.kind == Kind::kDone) {
    if (!group.retry.since()) failing_.erase(key);
    group.owner.Succeed(context_.ApiNow());
    if (group.sent && group.sent->kind == GroupDecision::Kind::kDeleted)
      group.creates = Pace();  // Nobody else does it.
    return Note(key, group, TakeSent(group));
  }
  group.owner.Fail(context_.ApiNow(), context_.random());
  failing_.insert(key);
  if (outcome.kind == Kind::kUnknown) return Refresh(key);
  const GroupDecision sent = TakeSent(group);
  // Another group has the name by now, or none.
  if (outcome.kind == Kind::kRefused && (outcome.error.code() == 404 || outcome.error.code() == 409)) {
    return Refresh(key);
  }
  if (runtime::ShouldReportToUser(outcome)) {
    obs::LogWarning("pod group cannot follow its owner", {{"group", key}, {"why", outcome.error.message()}});
    Note(key, group, RefusalOf(sent, outcome.error.message()));
  }
  context_.Wake(key);
}

}  // namespace basalt::pgsvc
