// The group of pods with an owner: what is sent for the owner, and what becomes of it.
#include <algorithm>
#include <utility>

#include "common/obs/log.h"
#include "services/pgsvc/control/group_requests.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {
namespace {

// For so long a group without owner and pods is left alone: somebody may be about to give it one.
constexpr absl::Duration kOrphanLasts = absl::Seconds(30);

}  // namespace

void PodGroupController::ServeOwner(const std::string& key, Group& group) {
  if (group.observed == nullptr || group.busy || !group.waiters.empty() || !group.owner.IsDue(*group.observed)) return;
  if (group.owner.retry().Blocks(context_.ApiNow())) return context_.WakeAt(key, group.owner.retry().until());
  FollowedOwner::Step step = group.owner.NextStep(*group.observed, group.pods, options_);
  if (!step.warning.empty()) RecordOnPod(key, group, *step.pod, "PodGroupWarning", step.warning);
  if (step.kind == FollowedOwner::Step::Kind::kNothing) return;
  const std::string& uid = group.observed->meta().uid();
  const bool is_update = step.kind == FollowedOwner::Step::Kind::kUpdate;
  SendForOwner(key, group, is_update ? GroupPatch(key, uid, std::move(step.patch)) : GroupDeletion(key, uid),
               std::move(step.decision));
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

void PodGroupController::RestoreOwners(const std::string& key, Group& group) {
  if (group.observed == nullptr || group.busy || !group.waiters.empty()) return;
  const kube::v1::ObjectMeta& meta = group.observed->meta();
  if (!meta.owner_references().empty() || meta.deletion_ms() != 0) return;
  const GroupPods::All& pods = group.pods.all();
  const auto own = std::find_if(pods.begin(), pods.end(), [&meta](const auto& pod) {
    return IsActive(pod.second) && GroupName(pod.second) == meta.name();
  });
  if (own == pods.end()) return;
  const kube::v1::Pod& pod = own->second;
  std::string patch = OwnerReferencesPatch(pod);
  if (group.owner_references.Blocks(context_.ApiNow(), patch)) {
    return context_.WakeAt(key, group.owner_references.Until(patch));
  }
  group.owner_references.Note(context_.ApiNow(), patch);
  group.busy = true;
  group.sent = GroupDecision{.kind = GroupDecision::Kind::kUpdated,
                             .uid = meta.uid(),
                             .asked_by = CreationFor(pod).asked_by,
                             .fields = {"ownerReferences"}};
  context_.Write(key, GroupPatch(key, meta.uid(), std::move(patch)), [this, key](const runtime::WriteOutcome& outcome) {
    Group* const written = groups_.Find(key);
    if (written == nullptr) return;
    written->busy = false;
    GroupDecision sent = TakeSent(*written);
    if (outcome.kind == runtime::WriteOutcome::Kind::kDone) return Note(key, *written, std::move(sent));
    // The pace says when it is tried again; what is there now is read where nobody knows.
    if (outcome.kind == runtime::WriteOutcome::Kind::kUnknown) return Refresh(key);
    context_.Wake(key);
  });
}

void PodGroupController::DeleteOrphan(const std::string& key, Group& group) {
  const bool is_orphan =
      group.observed != nullptr && group.pods.empty() && !group.owner.is_shown() && IsOrphan(group.observed->meta());
  if (!is_orphan) {
    group.orphaned_since.reset();
    return;
  }
  if (group.busy || !group.waiters.empty()) return;
  const absl::Time now = context_.ApiNow();
  if (!group.orphaned_since) group.orphaned_since = now;
  const absl::Time due = std::max(*group.orphaned_since + kOrphanLasts, group.owner.retry().until());
  if (now < due) return context_.WakeAt(key, due);
  const std::string& uid = group.observed->meta().uid();
  SendForOwner(key, group, GroupDeletion(key, uid),
               {.kind = GroupDecision::Kind::kDeleted,
                .uid = uid,
                .asked_by = "pgsvc",
                .message = "it has neither owner nor pods"});
}

void PodGroupController::OnOwnerWritten(const std::string& key, Group& group, const runtime::WriteOutcome& outcome) {
  using Kind = runtime::WriteOutcome::Kind;
  if (outcome.kind == Kind::kDone) {
    if (!group.retry.since()) failing_.erase(key);
    group.owner.Succeed(context_.ApiNow());
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
