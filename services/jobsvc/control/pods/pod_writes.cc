#include "services/jobsvc/control/pods/pod_writes.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// The pod is gone, or its name has another object by now: the watch will show that. The name is held until then, so
// that nothing is repeated.
constexpr EffectPolicy kPodDeletion{.already_exists = Meaning::kHeld,
                                    .not_found = Meaning::kHeld,
                                    .conflict = Meaning::kHeld,
                                    .invalid = Meaning::kHeld,
                                    .not_sent = Meaning::kHeld,
                                    .unknown = Meaning::kHeld};
// A newer state wakes the job, and is read after a conflict. Without a newer state the mark is tried again.
constexpr EffectPolicy kPodMark{.already_exists = Meaning::kHeld,
                                .not_found = Meaning::kHeld,
                                .conflict = Meaning::kHeld,
                                .not_sent = Meaning::kHeld,
                                .unknown = Meaning::kHeld};

}  // namespace

void PodWrites::Hold(const JobEntry& entry, const std::string& pod, absl::Duration hold, PartHost& host) {
  const absl::Time until = host.Now() + hold;
  held_until_[pod] = until;
  host.WakeAt(entry, until);
}

std::set<std::string> PodWrites::TakenNames(const JobEntry& entry, absl::Time now, PartHost& host) {
  std::set<std::string> taken(writes_.names().begin(), writes_.names().end());
  entry.pod_changes.ForEachName([&taken](const std::string& name, const kube::v1::Pod*) { taken.insert(name); });
  for (auto it = held_until_.begin(); it != held_until_.end();) {
    if (!StillWaits(now, it->second)) {
      it = held_until_.erase(it);
    } else {
      taken.insert(it->first);
      host.WakeAt(entry, it->second);  // An earlier wake of the key may have taken the place of this one.
      ++it;
    }
  }
  return taken;
}

void PodWrites::Apply(JobEntry& entry, PartHost& host) {
  const PodSet& pods = entry.pods;
  PodCreates& creates = entry.pod_creates;
  creates.ReportHeldName(entry, host);
  if (pods.missing().empty()) creates.ForgetMaker();
  if (pods.missing().empty() && pods.removals().empty()) return;
  const size_t most = host.options().max_in_flight_per_job;
  if (writes_.size() >= most) return;
  const std::set<std::string> taken = TakenNames(entry, host.Now(), host);
  // Objects of plugins come first: a pod goes only once no list of hosts names it.
  const bool objects_first = MakesPods(entry.job->status().phase()) && entry.plugin_objects.HoldsPods();
  const bool deletes_held = objects_first || entry.bulk_delete.Apply(entry, host);
  EffectInput view = host.ViewOf(entry, taken);
  view.limit = most - writes_.size();
  view.deletes_held = deletes_held;
  if (host.Waits(entry, creates.retry())) view.blocked = true;
  view.kills_blocked = objects_first;
  if (host.Waits(entry, writes_.retry())) view.kills_blocked = true;
  view.refused_tasks = creates.refused_tasks();
  // Probes run in rounds, one after the other, so that each task has one pod in a round.
  view.probes = writes_.empty() && !creates.probe_retry().Blocks(host.Now());
  if (!creates.refused_tasks().empty()) host.Waits(entry, creates.probe_retry());
  view.kills_after = kills_after_;
  const bool refused = entry.problems.has("FailedDelete");
  for (const PodEffect& effect : NextPodEffects(view)) {
    if (refused && effect.kind != PodEffect::Kind::kCreate) kills_after_ = effect.name;
    writes_.Begin(effect.name);
    switch (effect.kind) {
      case PodEffect::Kind::kMark:
        Mark(entry, effect, host);
        break;
      case PodEffect::Kind::kDelete:
        Delete(entry, effect, host);
        break;
      case PodEffect::Kind::kCreate:
        creates.Create(entry, effect, host);
        break;
    }
  }
}

void PodWrites::Mark(const JobEntry& entry, const PodEffect& effect, PartHost& host) {
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  kube::SetAnnotation(kube::kOutOfSyncKey, effect.uid, request).set_resource_version(effect.resource_version);
  host.Write(entry, std::move(request),
             [&host, pod = effect.name, uid = effect.uid](JobEntry& live, const WriteOutcome& outcome) {
               live.pod_writes.Killed(live, pod, outcome, kPodMark, absl::Seconds(1), host);
               if (AnswerOf(outcome) == Answer::kConflict) ReadNewest(live, pod, uid, host);
             });
}

// The watch may be late with the newer version. A state that is newer ends the hold of the name.
void PodWrites::ReadNewest(const JobEntry& entry, const std::string& pod, const std::string& uid, PartHost& host) {
  host.Get(entry, kube::GetOf(kube::kPods, entry.ns, pod),
           [&host, uid](const JobEntry& live, const absl::StatusOr<gateway::v1::GetResponse>& answer) {
             const bool is_there = answer.ok() && answer->object().pod().uid() == uid;
             if (is_there) host.context().MergeAnswer(live.key, answer->object(), /*gone=*/false);
           });
}

void PodWrites::Delete(const JobEntry& entry, const PodEffect& effect, PartHost& host) {
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  request.mutable_delete_()->set_uid(effect.uid);
  host.Write(entry, std::move(request), [&host, pod = effect.name](JobEntry& live, const WriteOutcome& outcome) {
    const bool is_gone = AnswerOf(outcome) == Answer::kNotFound;
    live.pod_writes.Killed(live, pod, outcome, kPodDeletion, is_gone ? absl::Seconds(5) : absl::Seconds(1), host);
  });
}

// Handles the answer to a mark or a deletion.
void PodWrites::Killed(JobEntry& entry, const std::string& pod, const WriteOutcome& outcome, const EffectPolicy& policy,
                       absl::Duration hold, PartHost& host) {
  switch (writes_.End(pod, AnswerOf(outcome), policy, host.Now(), host.context().random())) {
    case Meaning::kSucceeded:
      return;
    case Meaning::kRefused:
      host.WakeAt(entry, writes_.retry().until());
      if (!runtime::ShouldReportToUser(outcome.error)) return;
      return host.ReportProblem(entry, "FailedDelete", fmt::format("pod {}: {}", pod, outcome.error.message()), {pod});
    default:
      return Hold(entry, pod, hold, host);
  }
}

void PodWrites::EndProblem(JobEntry& entry) {
  if (!entry.pods.removals().empty()) return;
  writes_.retry().Succeed();
  kills_after_.clear();
  if (MakesPods(entry.job->status().phase()) || entry.plugin_objects.made().empty()) {
    entry.problems.End("FailedDelete");
  }
}

}  // namespace basalt::jobsvc
