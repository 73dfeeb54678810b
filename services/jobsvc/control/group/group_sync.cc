#include "services/jobsvc/control/group/group_sync.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/object_meta.h"
#include "common/kube/resources/pod_group.h"
#include "common/runtime/ask_owner.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

// pgsvc waits 5 s at most for the end of a deletion, and a write has 10 s.
constexpr absl::Duration kGroupCallTimeout = absl::Seconds(15);

// Returns the spec that the job requests for its group by now. `observed` is the present group, or null. A task that
// waited for others counts once all of its pods are there: while they are being created, the scheduler would take a
// running job for one whose gang does not fit. A new group requests every task that can start, and a group that
// requests a task goes on to do so while its missing pods can be created.
kube::v1::PodGroupSpec WantedNow(const JobEntry& entry, const kube::v1::PodGroup* observed) {
  const kube::v1::PodGroupSpec& whole = entry.compiled->group;
  const kube::v1::JobSpec& spec = entry.compiled->spec;
  const TaskFacts& facts = entry.pods.facts();
  std::vector<bool> left_out = facts.Waiting();
  if (observed != nullptr) {
    left_out =
        LeftOut(observed->spec(), whole, spec, entry.pods.done().by_task(), std::move(left_out), facts.BeingMade());
  }
  return WithoutDone(WithoutWaiting(whole, spec, left_out), spec, entry.pods.done().by_task(), left_out);
}

bool IsOwned(const kube::v1::PodGroup& group, const JobEntry& entry) {
  return kube::IsOwnedBy(group.meta(), entry.record.uid());
}

}  // namespace

const GroupView& GroupSync::View(const JobEntry& entry) const {
  if (view_) return *view_;
  GroupView& view = view_.emplace();
  view.name = entry.name + "-" + entry.record.uid();
  auto it = entry.groups.find(view.name);
  // Jobs from before Volcano 1.5 have a group with the job's own name (9.8, W18).
  if (it == entry.groups.end() || !IsOwned(it->second, entry)) it = entry.groups.find(entry.name);
  if (it == entry.groups.end() || !IsOwned(it->second, entry)) return view;
  view.present = true;
  view.name = it->first;
  view.uid = it->second.meta().uid();
  view.phase = it->second.phase();
  view.terminating = it->second.meta().deletion_ms() != 0;
  view.stale = view.terminating ||
               IsStaleGroup(it->second, entry.job ? entry.job->status() : kube::v1::JobStatus(), entry.persisted);
  return view;
}

bool GroupSync::IsCompared(const JobEntry& entry) const {
  return is_compared_ && agrees_since_ == entry.pods.done().changes() &&
         starts_since_ == entry.pods.facts().start_changes();
}

void GroupSync::Apply(JobEntry& entry, PartHost& host) {
  const GroupView& group = View(entry);
  const bool is_wanted = MakesPods(entry.job->status().phase());
  if (is_wanted && group.present && !group.stale && agrees_ && IsCompared(entry)) return;
  if (group.present && !group.terminating && (group.stale || !is_wanted)) return Delete(entry, group, host);
  if (!is_wanted || entry.compiled->invalid() || call_ != 0 || entry.forwarding.under_way()) return;
  if (group.stale) return;  // The end of the group wakes the job.
  // While the back-off lasts, the wanted spec is worked out only for a group that was not compared yet.
  if ((!group.present || is_compared_) && host.Waits(entry, retry_)) return;
  const kube::v1::PodGroup* const observed = group.present ? &entry.groups[group.name] : nullptr;
  kube::v1::PodGroupSpec spec = WantedNow(entry, observed);
  if (observed != nullptr) {
    is_compared_ = true;
    agrees_ = !kube::PodGroupDiffers(observed->spec(), spec);
    agrees_since_ = entry.pods.done().changes();
    starts_since_ = entry.pods.facts().start_changes();
    if (agrees_) return;
  }
  if (host.Waits(entry, retry_)) return;
  Ensure(entry, group, std::move(spec), host);
}

void GroupSync::Ensure(JobEntry& entry, const GroupView& group, kube::v1::PodGroupSpec spec, PartHost& host) {
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
  const uint64_t call = host.NextGroupCall();
  const bool is_asked =
      runtime::AskOwner(host.context(), gateway::v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(entry.ns, group.name),
                        &rpc::PodGroupPeer::EnsurePodGroup, std::move(request), kGroupCallTimeout,
                        [&host, key = entry.key, uid = entry.record.uid(),
                         call](absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> response) {
                          host.metrics().GroupCall(response.status().code());
                          JobEntry* const live = EndCall(key, uid, call, host);
                          if (live != nullptr) live->group_sync.EnsureAnswered(*live, response.status(), host);
                        });
  if (!is_asked) return host.TryAgain(entry, retry_);
  call_ = call;
}

void GroupSync::EnsureAnswered(JobEntry& entry, const absl::Status& status, PartHost& host) {
  const absl::Time answered = host.Now();
  if (status.ok()) {
    retry_.Succeed();
    entry.problems.End("PodGroupError");
    // The watch will show the group. The call is repeated only if it does not.
    retry_.Postpone(answered + absl::Seconds(2));
  } else {
    retry_.Fail(answered, host.context().random());
    const absl::StatusCode code = status.code();
    const bool is_final = code == absl::StatusCode::kAlreadyExists || code == absl::StatusCode::kInvalidArgument;
    // A failure that is not final is reported only if it lasts: the group's owner may be moving to another replica, or
    // the API server may have a bad moment. FAILED_PRECONDITION is no problem at all: the group of an older version has
    // to go first.
    const bool lasts = code != absl::StatusCode::kFailedPrecondition && retry_.Lasts(answered);
    if (is_final || lasts) host.ReportProblem(entry, "PodGroupError", std::string(ToStd(status.message())));
  }
  host.WakeAt(entry, retry_.until());
  host.Wake(entry);
}

void GroupSync::Delete(JobEntry& entry, const GroupView& group, PartHost& host) {
  if (call_ != 0 || deleted_.contains(group.uid) || host.Waits(entry, retry_)) return;
  podgroup::v1::DeletePodGroupRequest request;
  request.set_namespace_(entry.ns);
  request.set_name(group.name);
  request.set_uid(group.uid);
  request.set_job_uid(entry.record.uid());
  const uint64_t call = host.NextGroupCall();
  const bool is_asked = runtime::AskOwner(
      host.context(), gateway::v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(entry.ns, group.name),
      &rpc::PodGroupPeer::DeletePodGroup, std::move(request), kGroupCallTimeout,
      [&host, key = entry.key, uid = entry.record.uid(), group_uid = group.uid,
       call](absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response) {
        host.metrics().GroupCall(response.status().code());
        JobEntry* const live = EndCall(key, uid, call, host);
        if (live == nullptr) return;
        if (response.ok()) {
          live->group_sync.Deleted(*live, group_uid, *std::move(response), host);
        } else {
          host.TryAgain(*live, live->group_sync.retry_);
          // Any other failure is over with another try, and Explain states that the group is still there.
          if (response.status().code() == absl::StatusCode::kInvalidArgument) {
            host.ReportProblem(*live, "PodGroupError", std::string(ToStd(response.status().message())));
          }
        }
        host.context().Wake(key);
      });
  if (!is_asked) return host.TryAgain(entry, retry_);
  call_ = call;
}

void GroupSync::Deleted(JobEntry& entry, const std::string& group_uid, podgroup::v1::DeletePodGroupResponse answer,
                        PartHost& host) {
  // The deletion is not requested again: the watch will show that the group is gone.
  deleted_.insert(group_uid);
  retry_.Succeed();
  entry.problems.End("PodGroupError");
  if (!answer.has_pod_group()) return;
  kube::v1::Object object;
  object.mutable_pod_group()->Swap(answer.mutable_pod_group());
  host.context().MergeAnswer(entry.key, object, answer.gone());
}

JobEntry* GroupSync::EndCall(const std::string& key, const std::string& uid, uint64_t call, PartHost& host) {
  JobEntry* const live = host.Live(key, uid);
  if (live == nullptr || live->group_sync.call_ != call) return nullptr;
  live->group_sync.call_ = 0;
  return live;
}

}  // namespace basalt::jobsvc
