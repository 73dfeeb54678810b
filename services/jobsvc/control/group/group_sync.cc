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

// After a conflict the group of an older version has to go first: users need not know.
constexpr EffectPolicy kGroupEnsure{
    .conflict = Meaning::kTryAgain, .not_sent = Meaning::kRefused, .unknown = Meaning::kRefused};
// Any failure but a wrong request is over with another try, and Explain states that the group is still there.
constexpr EffectPolicy kGroupDeletion{.already_exists = Meaning::kTryAgain,
                                      .not_found = Meaning::kTryAgain,
                                      .conflict = Meaning::kTryAgain,
                                      .refused = Meaning::kTryAgain};

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

void ReportGroupError(JobEntry& entry, const absl::Status& status, PartHost& host) {
  host.ReportProblem(entry, "PodGroupError", std::string(ToStd(status.message())));
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
  if (!is_wanted || entry.compiled->invalid() || call_.under_way() || entry.forwarding.under_way()) return;
  if (group.stale) return;  // The end of the group wakes the job.
  // While the back-off lasts, the wanted spec is worked out only for a group that was not compared yet.
  if ((!group.present || is_compared_) && host.Waits(entry, call_.retry())) return;
  const kube::v1::PodGroup* const observed = group.present ? &entry.groups[group.name] : nullptr;
  kube::v1::PodGroupSpec spec = WantedNow(entry, observed);
  if (observed != nullptr) {
    is_compared_ = true;
    agrees_ = !kube::PodGroupDiffers(observed->spec(), spec);
    agrees_since_ = entry.pods.done().changes();
    starts_since_ = entry.pods.facts().start_changes();
    if (agrees_) return;
  }
  if (host.Waits(entry, call_.retry())) return;
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
                          JobEntry* const live = Find(key, uid, call, host);
                          if (live != nullptr) live->group_sync.EnsureAnswered(*live, response.status(), host);
                        });
  if (!is_asked) return host.TryAgain(entry, call_.retry());
  Begin(call);
}

void GroupSync::EnsureAnswered(JobEntry& entry, const absl::Status& status, PartHost& host) {
  const absl::Time answered = host.Now();
  const Answer answer = AnswerOfCall(status);
  const Meaning meaning = call_.End(answer, kGroupEnsure, answered, host.context().random());
  if (meaning == Meaning::kSucceeded) {
    entry.problems.End("PodGroupError");
    // The watch will show the group. The call is repeated only if it does not.
    call_.retry().Postpone(answered + absl::Seconds(2));
  } else if (meaning == Meaning::kRefused) {
    // A failure that is not final is reported only if it lasts: the group's owner may be moving to another replica, or
    // the API server may have a bad moment.
    const bool is_final = answer == Answer::kAlreadyExists || answer == Answer::kInvalid;
    if (is_final || call_.retry().Lasts(answered)) ReportGroupError(entry, status, host);
  }
  host.WakeAt(entry, call_.retry().until());
  host.Wake(entry);
}

void GroupSync::Delete(JobEntry& entry, const GroupView& group, PartHost& host) {
  if (call_.under_way() || deleted_.contains(group.uid) || host.Waits(entry, call_.retry())) return;
  podgroup::v1::DeletePodGroupRequest request;
  request.set_namespace_(entry.ns);
  request.set_name(group.name);
  request.set_uid(group.uid);
  request.set_job_uid(entry.record.uid());
  const uint64_t call = host.NextGroupCall();
  const bool is_asked =
      runtime::AskOwner(host.context(), gateway::v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(entry.ns, group.name),
                        &rpc::PodGroupPeer::DeletePodGroup, std::move(request), kGroupCallTimeout,
                        [&host, key = entry.key, uid = entry.record.uid(), group_uid = group.uid,
                         call](absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response) {
                          host.metrics().GroupCall(response.status().code());
                          JobEntry* const live = Find(key, uid, call, host);
                          if (live == nullptr) return;
                          live->group_sync.DeleteAnswered(*live, group_uid, std::move(response), host);
                        });
  if (!is_asked) return host.TryAgain(entry, call_.retry());
  Begin(call);
}

void GroupSync::DeleteAnswered(JobEntry& entry, const std::string& group_uid,
                               absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response, PartHost& host) {
  const Meaning meaning =
      call_.End(AnswerOfCall(response.status()), kGroupDeletion, host.Now(), host.context().random());
  if (meaning == Meaning::kSucceeded) {
    // The deletion is not requested again: the watch will show that the group is gone.
    deleted_.insert(group_uid);
    entry.problems.End("PodGroupError");
    if (response->has_pod_group()) {
      kube::v1::Object object;
      object.mutable_pod_group()->Swap(response->mutable_pod_group());
      host.context().MergeAnswer(entry.key, object, response->gone());
    }
  } else {
    host.WakeAt(entry, call_.retry().until());
    if (meaning == Meaning::kRefused) ReportGroupError(entry, response.status(), host);
  }
  host.Wake(entry);
}

void GroupSync::Begin(uint64_t call) {
  call_.Begin();
  number_ = call;
}

JobEntry* GroupSync::Find(const std::string& key, const std::string& uid, uint64_t call, PartHost& host) {
  JobEntry* const live = host.Live(key, uid);
  return live != nullptr && live->group_sync.number_ == call ? live : nullptr;
}

}  // namespace basalt::jobsvc
