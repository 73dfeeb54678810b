// What JobController sends about pods: marks, deletions one by one or all of a kill in one call, creations.
#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// A pod of ours that no watch has shown by then has lost the label that it is watched by.
constexpr absl::Duration kShownWithin = absl::Seconds(30);
// Creation times are whole seconds, and of the server's clock no more than the second is known.
constexpr absl::Duration kClockError = absl::Seconds(2);

// So many that brought nothing: then pods go singly.
constexpr int kFruitlessCollections = 1;

std::string PodSubject(std::string_view pod) { return fmt::format("pod {}", pod); }

// An object that is not the job's has its name.
Problem NameIsHeld(const std::string& pod, const std::string& uid, bool is_orphan) {
  return {.words = {"FailedCreate", fmt::format("pod {}: the name is held by an object {} (UID {})", pod,
                                                is_orphan ? "that nobody owns" : "of another owner", uid)},
          .kind = is_orphan ? ProblemKind::kNameOrphaned : ProblemKind::kNameHeld,
          .subject = PodSubject(pod)};
}

// It is there, and the watch does not show it any more.
Problem LabelIsLost(const std::string& pod, const kube::v1::Pod& found, std::string_view job) {
  return {.words = {"FailedCreate", fmt::format("pod {}: it is there, but without the label {}={} (UID {}); give it "
                                                "back or delete the pod",
                                                pod, kube::kJobNameKey, job, found.uid())},
          .kind = ProblemKind::kLabelLost,
          .subject = PodSubject(pod)};
}

// Refused for what it is, not for the moment.
bool IsRefusal(const gateway::v1::KubeError& error) {
  return error.code() >= 400 && error.code() < 500 && error.code() != 409 && error.code() != 429;
}

}  // namespace

void JobController::HoldPod(JobEntry& entry, const std::string& pod, absl::Duration hold) {
  const absl::Time until = context_.ApiNow() + hold;
  entry.pod_writes.held_until[pod] = until;
  context_.WakeAt(entry.key, until);
}

void JobController::ActOnPods(JobEntry& entry) {
  const PodSet& pods = entry.pods;
  ReportHeldName(entry);
  if (pods.missing().empty()) entry.maker.reset();
  if (pods.missing().empty() && pods.to_mark().empty() && pods.to_delete().empty()) return;
  if (entry.pod_writes.busy.size() >= options_.max_in_flight_per_job) return;
  const absl::Time now = context_.ApiNow();
  std::set<std::string> busy = entry.pod_writes.busy;
  for (const auto& [name, queue] : entry.dirty_pods) busy.insert(name);
  for (auto it = entry.pod_writes.held_until.begin(); it != entry.pod_writes.held_until.end();) {
    if (!StillWaits(now, it->second)) {
      it = entry.pod_writes.held_until.erase(it);
    } else {
      busy.insert(it->first);
      context_.WakeAt(entry.key, it->second);  // An earlier wake of the key takes the place of a later one.
      ++it;
    }
  }
  // Objects of plugins come first: before a pod goes, no list of hosts names it. An object that is refused holds none.
  const bool objects_first = MakesPods(entry.job->status().phase()) && !entry.plugin_objects.busy.empty() &&
                             !entry.plugin_objects.retry.since();
  const bool deletes_held = objects_first || HoldsDeletes(entry);
  EffectInput view = ViewOf(entry, busy);
  view.limit = options_.max_in_flight_per_job - entry.pod_writes.busy.size();
  view.deletes_held = deletes_held;
  if (entry.pod_writes.create_retry.Blocks(now)) {
    view.blocked = true;
    context_.WakeAt(entry.key, entry.pod_writes.create_retry.until());
  }
  view.kills_blocked = objects_first;
  if (entry.pod_writes.kill_retry.Blocks(now)) {
    view.kills_blocked = true;
    context_.WakeAt(entry.key, entry.pod_writes.kill_retry.until());
  }
  view.refused_tasks = entry.pod_writes.refused_tasks;
  // One round after the other, so that each task has one pod in it.
  view.probes = entry.pod_writes.busy.empty() && !entry.pod_writes.probe_retry.Blocks(now);
  if (!entry.pod_writes.refused_tasks.empty() && entry.pod_writes.probe_retry.Blocks(now)) {
    context_.WakeAt(entry.key, entry.pod_writes.probe_retry.until());
  }
  view.kills_after = entry.pod_writes.kills_after;
  const bool refused = entry.problems.has("FailedDelete");
  for (const PodEffect& effect : NextPodEffects(view)) {
    if (refused && effect.kind != PodEffect::Kind::kCreate) entry.pod_writes.kills_after = effect.name;
    entry.pod_writes.busy.insert(effect.name);
    switch (effect.kind) {
      case PodEffect::Kind::kMark:
        MarkPod(entry, effect);
        break;
      case PodEffect::Kind::kDelete:
        DeletePod(entry, effect);
        break;
      case PodEffect::Kind::kCreate:
        CreatePod(entry, effect);
        break;
    }
  }
}

// A name that is seen to be held: nothing is tried under it that would be told of.
void JobController::ReportHeldName(JobEntry& entry) {
  const std::set<std::string>& held = entry.pods.held();
  const bool is_in_the_way = !held.empty() && MakesPods(entry.job->status().phase());
  if (!entry.pod_writes.held_name.empty() && (!is_in_the_way || !held.contains(entry.pod_writes.held_name))) {
    entry.problems.End("FailedCreate", PodSubject(std::exchange(entry.pod_writes.held_name, {})));
    context_.Wake(entry.key);
  }
  if (!is_in_the_way) return;
  const bool is_news = entry.pod_writes.held_name.empty();
  if (is_news) entry.pod_writes.held_name = *held.begin();
  const PodEntry& pod = *entry.pods.Find(entry.pod_writes.held_name);
  const std::string& uid = pod.uid;
  Problem problem = NameIsHeld(entry.pod_writes.held_name, uid, pod.has(kPodOrphan));
  if (is_news) return ReportProblem(entry, std::move(problem), {entry.pod_writes.held_name, uid});
  // It lasts.
  entry.problems.Report(std::move(problem), {entry.pod_writes.held_name, uid}, context_.ApiNow(),
                        options_.event_interval);
}

EffectInput JobController::ViewOf(const JobEntry& entry, const std::set<std::string>& busy) const {
  return {.job = *entry.job,
          .spec = entry.compiled->spec,
          .pods = entry.pods,
          .group = GroupOf(entry),
          .blocked = entry.compiled->invalid(),
          .action_waits = !entry.record.pending().empty(),
          .objects_ready = ObjectsReady(entry),
          .busy = busy,
          .collecting = collecting_.contains(entry.key),
          .limit = options_.max_in_flight_per_job};
}

void JobController::CreatePod(JobEntry& entry, const PodEffect& effect) {
  if (!entry.maker) entry.maker = std::make_unique<PodMaker>(*entry.job, entry.compiled->spec);
  const GroupView& group = GroupOf(entry);
  const PodContext context{.version = entry.job->status().version(),
                           .retry_count = entry.job->status().retry_count(),
                           .pod_group_name = group.name,
                           .forwarding = IsForwarded(entry)};
  auto body = entry.maker->Make(effect.place.task, effect.place.index, context);
  if (!body.ok()) {
    entry.pod_writes.busy.erase(effect.name);
    CreateRefused(entry, effect.place.task);
    ReportProblem(entry, "FailedCreate", std::string(ToStd(body.status().message())));
    return;
  }
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  request.mutable_create()->set_body(*std::move(body));
  context_.Write(
      entry.key, std::move(request),
      [this, key = entry.key, uid = entry.record.uid(), effect, sent = context_.ApiNow()](WriteOutcome outcome) {
        JobEntry* live = Live(key, uid);
        if (live == nullptr) return;
        if (outcome.kind == WriteOutcome::Kind::kUnknown) {
          ResolveUnknownCreate(key, uid, effect, sent, nullptr);
          return;  // The name stays busy.
        }
        if (runtime::IsNameTaken(outcome)) {
          // Ours from before a crash, or somebody else's: the name is waited for.
          ResolveUnknownCreate(key, uid, effect, sent, &outcome.error);
          return;
        }
        live->pod_writes.busy.erase(effect.name);
        if (outcome.kind == WriteOutcome::Kind::kDone) {
          live->pod_writes.create_retry.Succeed();
          if (std::erase(live->pod_writes.refused_tasks, effect.place.task) > 0) live->pod_writes.probe_retry.Succeed();
          if (outcome.object.has_pod()) CountCreated(*live, outcome.object.pod());
          if (live->pod_writes.refused_tasks.empty()) live->EndFailedCreate();
          context_.Wake(key);
          return;
        }
        if (outcome.kind == WriteOutcome::Kind::kNotSent) {
          return TryAgain(*live, live->pod_writes.create_retry);
        }
        CreateAnswered(*live, effect, outcome.error);
      });
}

void JobController::CreateAnswered(JobEntry& entry, const PodEffect& effect, const gateway::v1::KubeError& error) {
  CreateRefused(entry, effect.place.task);
  if (!runtime::ShouldReportCreate(error, entry.pod_writes.probe_retry.Lasts(context_.ApiNow()))) return;
  ReportProblem(entry, "FailedCreate", fmt::format("pod {}: {}", effect.name, error.message()), {effect.name});
}

// The pods of a task are alike: one of them, now and then, tells whether they can be made.
void JobController::CreateRefused(JobEntry& entry, int32_t task) {
  std::erase(entry.pod_writes.refused_tasks, task);
  entry.pod_writes.refused_tasks.push_back(task);
  TryAgain(entry, entry.pod_writes.probe_retry);
}

void JobController::CountCreated(const JobEntry& entry, const kube::v1::Pod& pod) {
  // The job may be gone, or made anew, since.
  if (!entry.job || entry.job->meta().uid() != pod.owner_uid()) return;
  metrics_.PodCreated(pod.creation_ms() - entry.job->meta().creation_ms());
}

// What stands under the name of a pod whose creation was not confirmed.
void JobController::ResolveUnknownCreate(const std::string& key, const std::string& uid, const PodEffect& effect,
                                         absl::Time sent, const gateway::v1::KubeError* taken) {
  auto request = kube::GetOf(kube::kPods, Live(key, uid)->ns, effect.name);
  std::optional<gateway::v1::KubeError> refusal;
  if (taken != nullptr) refusal = *taken;
  context_.Get(key, std::move(request),
               [this, key, uid, effect, sent, refusal](absl::StatusOr<gateway::v1::GetResponse> response) {
                 JobEntry* live = Live(key, uid);
                 if (live == nullptr) return;
                 const std::string& pod = effect.name;
                 live->pod_writes.busy.erase(pod);
                 if (!response.ok()) {
                   HoldPod(*live, pod, refusal ? absl::Seconds(2) : absl::Milliseconds(500));
                 } else if (response->has_error() && response->error().code() != 404) {
                   CreateAnswered(*live, effect, response->error());
                 } else if (response->has_error() && refusal) {
                   // Gone since, or the two answers take turns.
                   CreateAnswered(*live, effect, *refusal);
                 } else if (response->has_object()) {
                   const kube::v1::Pod& found = response->object().pod();
                   const PodEntry* known = live->pods.Find(pod);
                   const auto dirty = live->dirty_pods.find(pod);
                   const bool is_shown = (known != nullptr && known->uid == found.uid()) ||
                                         (dirty != live->dirty_pods.end() && dirty->second.back().uid == found.uid());
                   // Ours or not, the watch shows it when it is relevant; until then the name is held. What has become
                   // of ours may call for an action, also once it is gone.
                   if (!is_shown) HoldPod(*live, pod, found.owner_uid() == uid ? kShownWithin : absl::Seconds(5));
                   if (response->object().has_pod() && found.owner_uid() != uid) {
                     ReportProblem(*live, NameIsHeld(pod, found.uid(), found.owner_uid().empty()), {pod, found.uid()});
                   } else if (found.creation_ms() >= absl::ToUnixMillis(sent - kClockError)) {
                     CountCreated(*live,
                                  found);  // By this request: one of before was counted, or is another process's.
                   } else if (response->object().has_pod() && !is_shown &&
                              context_.ApiNow() - absl::FromUnixMillis(found.creation_ms()) > kShownWithin) {
                     ReportProblem(*live, LabelIsLost(pod, found, live->name), {pod, found.uid()});
                   }
                 }
                 context_.Wake(key);
               });
}

void JobController::DeletePod(JobEntry& entry, const PodEffect& effect) {
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  request.mutable_delete_()->set_uid(effect.uid);
  context_.Write(entry.key, std::move(request),
                 [this, key = entry.key, uid = entry.record.uid(), pod = effect.name](WriteOutcome outcome) {
                   JobEntry* live = Live(key, uid);
                   if (live == nullptr) return;
                   live->pod_writes.busy.erase(pod);
                   if (outcome.kind == WriteOutcome::Kind::kDone) {
                     live->pod_writes.kill_retry.Succeed();
                     return;
                   }
                   const int code = outcome.error.code();
                   if (outcome.kind == WriteOutcome::Kind::kRefused && code != 404 && code != 409 && code != 422) {
                     return KillRefused(*live, pod, outcome.error);
                   }
                   // Gone, or another object by now: the watch says so. Held until then, so that nothing is repeated.
                   HoldPod(*live, pod, code == 404 ? absl::Seconds(5) : absl::Seconds(1));
                 });
}

void JobController::KillRefused(JobEntry& entry, const std::string& pod, const gateway::v1::KubeError& error) {
  TryAgain(entry, entry.pod_writes.kill_retry);
  if (!runtime::ShouldReportToUser(error)) return;
  ReportProblem(entry, "FailedDelete", fmt::format("pod {}: {}", pod, error.message()), {pod});
}

// Deletes in one call what a full kill takes, where it can. True: nothing is to be deleted singly now.
bool JobController::HoldsDeletes(JobEntry& entry) {
  const PodSet& pods = entry.pods;
  const std::pair<int32_t, bool> kill(pods.rules().version, pods.rules().kill_all);
  if (collecting_.contains(entry.key)) return true;
  if (entry.bulk_delete.of_kill != kill) {
    entry.bulk_delete.of_kill = kill;
    entry.bulk_delete.over = false;
    entry.bulk_delete.empty_answers = 0;
    entry.bulk_delete.unseen_until = absl::InfinitePast();
  }
  if (StillWaits(context_.ApiNow(), entry.bulk_delete.unseen_until)) {
    if (!pods.to_delete().empty()) context_.WakeAt(entry.key, entry.bulk_delete.unseen_until);
    return true;
  }
  if (pods.to_delete().size() < 2 || entry.bulk_delete.over) return false;
  const std::set<std::string> none;
  const std::optional<PodCollection> collection = NextPodCollection(ViewOf(entry, none));
  if (!collection) {
    entry.bulk_delete.over = true;  // Looked at once.
    return false;
  }
  DeletePods(entry, *collection);
  return true;
}

void JobController::DeletePods(JobEntry& entry, const PodCollection& collection) {
  auto request = kube::WriteOf(kube::kPods, entry.ns, "");
  gateway::v1::DeleteCollection& pods = *request.mutable_delete_collection();
  pods.set_label_selector(collection.label_selector);
  pods.set_field_selector(collection.field_selector);
  collecting_.insert(entry.key);
  context_.Write(entry.key, std::move(request),
                 [this, key = entry.key, uid = entry.record.uid(), kill = entry.bulk_delete.of_kill,
                  left = entry.pods.to_delete().size()](WriteOutcome outcome) {
                   collecting_.erase(key);
                   context_.Wake(key);  // Also of another job, which has the name by now.
                   JobEntry* live = Live(key, uid);
                   if (live == nullptr || live->bulk_delete.of_kill != kill) return;
                   const absl::Time now = context_.ApiNow();
                   if (outcome.kind == WriteOutcome::Kind::kDone) {
                     // The watch shows what has gone; what has not goes singly.
                     live->bulk_delete.over = true;
                     live->bulk_delete.unseen_until = now + absl::Seconds(2);
                     return;
                   }
                   // Of many pods the server may need several calls. One that it will not let go stops them all.
                   if (live->pods.to_delete().size() < left) live->bulk_delete.empty_answers = 0;
                   const bool refused = outcome.kind == WriteOutcome::Kind::kRefused && IsRefusal(outcome.error);
                   if (outcome.kind != WriteOutcome::Kind::kNotSent) ++live->bulk_delete.empty_answers;
                   live->bulk_delete.over = refused || live->bulk_delete.empty_answers > kFruitlessCollections;
                   live->bulk_delete.unseen_until =
                       live->bulk_delete.over ? absl::InfinitePast() : now + absl::Seconds(1);
                 });
}

void JobController::MarkPod(JobEntry& entry, const PodEffect& effect) {
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  kube::SetAnnotation(kube::kOutOfSyncKey, effect.uid, request).set_resource_version(effect.resource_version);
  context_.Write(entry.key, std::move(request),
                 [this, key = entry.key, uid = entry.record.uid(), pod = effect.name](WriteOutcome outcome) {
                   JobEntry* live = Live(key, uid);
                   if (live == nullptr) return;
                   live->pod_writes.busy.erase(pod);
                   if (outcome.kind == WriteOutcome::Kind::kDone) return live->pod_writes.kill_retry.Succeed();
                   const int code = outcome.error.code();
                   if (outcome.kind == WriteOutcome::Kind::kRefused && code != 404 && code != 409) {
                     return KillRefused(*live, pod, outcome.error);
                   }
                   // A newer state wakes the job; without one it is tried again.
                   HoldPod(*live, pod, absl::Seconds(1));
                 });
}

}  // namespace basalt::jobsvc
