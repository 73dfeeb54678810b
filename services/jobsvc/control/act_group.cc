// The PodGroup of a job: pgsvc writes it, and is asked here, one call about a job's group at a time.
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/resources/pod_group.h"
#include "common/runtime/ask_owner.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {
namespace {

// A deletion waits there for 5 s at most, and a write has 10.
constexpr absl::Duration kGroupCallTimeout = absl::Seconds(15);

}  // namespace

void JobController::ActOnGroup(JobEntry& entry) {
  const GroupView& group = GroupOf(entry);
  const bool wanted = MakesPods(entry.job->status().phase());
  const bool agrees = entry.group_sync.compared && entry.group_sync.agrees &&
                      entry.group_sync.agrees_since == entry.pods.done_changes();
  if (wanted && group.present && !group.stale && agrees) return;
  if (group.present && !group.terminating && (group.stale || !wanted)) return DeleteGroup(entry, group);
  if (!wanted || entry.compiled->invalid() || entry.group_sync.call != 0 || entry.forwarding.in_flight) return;
  if (group.stale) return;  // Its end wakes the job.
  // What it has by now is worked out when it may be asked for.
  const bool blocked = entry.group_sync.retry.Blocks(context_.ApiNow());
  const bool known = !group.present || entry.group_sync.compared;
  if (known && blocked) return context_.WakeAt(entry.key, entry.group_sync.retry.until());
  kube::v1::PodGroupSpec spec = WithoutDone(entry.compiled->group, entry.compiled->spec, entry.pods.done());
  if (group.present) {
    const kube::v1::PodGroup& observed = entry.groups[group.name];
    entry.group_sync.compared = true;
    entry.group_sync.agrees = !kube::PodGroupDiffers(observed.spec(), spec);
    entry.group_sync.agrees_since = entry.pods.done_changes();
    if (entry.group_sync.agrees) return;
  }
  if (blocked) return context_.WakeAt(entry.key, entry.group_sync.retry.until());
  EnsureGroup(entry, group, std::move(spec));
}

void JobController::EnsureGroup(JobEntry& entry, const GroupView& group, kube::v1::PodGroupSpec spec) {
  podgroup::v1::EnsurePodGroupRequest request;
  request.set_namespace_(entry.ns);
  request.set_name(group.name);
  request.set_job_name(entry.name);
  request.set_job_uid(entry.record.uid());
  request.set_version(entry.job->status().version());
  *request.mutable_spec() = std::move(spec);
  *request.mutable_labels() = entry.job->meta().labels();
  *request.mutable_annotations() = entry.job->meta().annotations();
  if (entry.persisted.kill) request.set_kill_uid(entry.persisted.kill->group_uid);
  const uint64_t call = ++last_group_call_;
  const bool is_asked = runtime::AskOwner(
      context_, gateway::v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(entry.ns, group.name),
      &rpc::PodGroupPeer::EnsurePodGroup, std::move(request), kGroupCallTimeout,
      [this, key = entry.key, uid = entry.record.uid(),
       call](absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> response) {
        JobEntry* live = EndGroupCall(key, uid, call);
        if (live == nullptr) return;
        const absl::Time answered = context_.ApiNow();
        if (response.ok()) {
          live->group_sync.retry.Succeed();
          live->problems.End("PodGroupError");
          // The watch shows it; asked again only if it does not.
          live->group_sync.retry.Postpone(answered + absl::Seconds(2));
        } else {
          live->group_sync.retry.Fail(answered, context_.random());
          const absl::StatusCode code = response.status().code();
          const bool is_final = code == absl::StatusCode::kAlreadyExists || code == absl::StatusCode::kInvalidArgument;
          // Its owner may be on its way to another replica, or the API server have a bad moment; that the group of an
          // older version goes first is no problem at all.
          const bool lasts = code != absl::StatusCode::kFailedPrecondition && live->group_sync.retry.Lasts(answered);
          if (is_final || lasts) {
            ReportProblem(*live, "PodGroupError", std::string(ToStd(response.status().message())));
          }
        }
        context_.WakeAt(key, live->group_sync.retry.until());
        context_.Wake(key);
      });
  if (!is_asked) return TryAgain(entry, entry.group_sync.retry);
  entry.group_sync.call = call;
}

void JobController::DeleteGroup(JobEntry& entry, const GroupView& group) {
  GroupSync& sync = entry.group_sync;
  if (sync.call != 0 || sync.deleted.contains(group.uid)) return;
  if (sync.retry.Blocks(context_.ApiNow())) return context_.WakeAt(entry.key, sync.retry.until());
  podgroup::v1::DeletePodGroupRequest request;
  request.set_namespace_(entry.ns);
  request.set_name(group.name);
  request.set_uid(group.uid);
  request.set_job_uid(entry.record.uid());
  const uint64_t call = ++last_group_call_;
  const bool is_asked =
      runtime::AskOwner(context_, gateway::v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(entry.ns, group.name),
                        &rpc::PodGroupPeer::DeletePodGroup, std::move(request), kGroupCallTimeout,
                        [this, key = entry.key, uid = entry.record.uid(), group_uid = group.uid,
                         call](absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response) {
                          JobEntry* live = EndGroupCall(key, uid, call);
                          if (live == nullptr) return;
                          if (response.ok()) {
                            GroupIsDeleted(*live, group_uid, *std::move(response));
                          } else {
                            TryAgain(*live, live->group_sync.retry);
                            // What else there is, is over with another try, and Explain says that the group is still
                            // there.
                            if (response.status().code() == absl::StatusCode::kInvalidArgument) {
                              const std::string words(ToStd(response.status().message()));
                              ReportProblem(*live, "PodGroupError", words);
                            }
                          }
                          context_.Wake(key);
                        });
  if (!is_asked) return TryAgain(entry, sync.retry);
  sync.call = call;
}

void JobController::GroupIsDeleted(JobEntry& entry, const std::string& group_uid,
                                   podgroup::v1::DeletePodGroupResponse answer) {
  // Until the watch shows that it is gone.
  entry.group_sync.deleted.insert(group_uid);
  entry.group_sync.retry.Succeed();
  entry.problems.End("PodGroupError");
  if (!answer.has_pod_group()) return;
  kube::v1::Object object;
  object.mutable_pod_group()->Swap(answer.mutable_pod_group());
  context_.MergeAnswer(entry.key, object, answer.gone());
}

JobEntry* JobController::EndGroupCall(const std::string& key, const std::string& uid, uint64_t call) {
  JobEntry* live = Live(key, uid);
  if (live == nullptr || live->group_sync.call != call) return nullptr;
  live->group_sync.call = 0;
  return live;
}

}  // namespace basalt::jobsvc
