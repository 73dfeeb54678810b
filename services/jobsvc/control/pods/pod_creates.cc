#include "services/jobsvc/control/pods/pod_creates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// A taken name belongs to our own pod, from before a crash, or to somebody else's object.
constexpr EffectPolicy kPodCreate{.already_exists = Meaning::kLook, .unknown = Meaning::kLook};
// A pod of ours that the watch has not shown within this time has lost the label by which it is watched.
constexpr absl::Duration kShownWithin = absl::Seconds(30);
// Creation times are whole seconds, and the server's clock is known to the second only.
constexpr absl::Duration kClockError = absl::Seconds(2);

std::string PodSubject(std::string_view pod) { return fmt::format("pod {}", pod); }

// An object that is not the job's has the pod's name.
Problem NameIsHeld(const std::string& pod, const std::string& uid, bool is_orphan) {
  return {.words = {"FailedCreate", fmt::format("pod {}: the name is held by an object {} (UID {})", pod,
                                                is_orphan ? "that nobody owns" : "of another owner", uid)},
          .kind = is_orphan ? ProblemKind::kNameOrphaned : ProblemKind::kNameHeld,
          .subject = PodSubject(pod)};
}

// The pod is there, and the watch does not show it any more.
Problem LabelIsLost(const std::string& pod, const kube::v1::Pod& found, std::string_view job) {
  return {.words = {"FailedCreate", fmt::format("pod {}: it is there, but without the label {}={} (UID {}); give it "
                                                "back or delete the pod",
                                                pod, kube::kJobNameKey, job, found.uid())},
          .kind = ProblemKind::kLabelLost,
          .subject = PodSubject(pod)};
}

void CountCreated(const JobEntry& entry, const kube::v1::Pod& pod, PartHost& host) {
  // The job may be gone, or created anew, since.
  if (!entry.job || entry.job->meta().uid() != pod.owner_uid()) return;
  host.metrics().PodCreated(pod.creation_ms() - entry.job->meta().creation_ms());
}

}  // namespace

void PodCreates::Create(JobEntry& entry, const PodEffect& effect, PartHost& host) {
  if (!maker_) maker_ = std::make_unique<PodMaker>(*entry.job, entry.compiled->spec);
  const PodContext context{.version = entry.job->status().version(),
                           .retry_count = entry.job->status().retry_count(),
                           .pod_group_name = entry.group_sync.View(entry).name,
                           .forwarding = host.IsForwarded(entry)};
  auto body = maker_->Make(effect.place.task, effect.place.index, context);
  if (!body.ok()) {
    entry.pod_writes.Release(effect.name);
    TryTaskLater(entry, effect.place.task, host);
    return host.ReportProblem(entry, "FailedCreate", std::string(ToStd(body.status().message())));
  }
  auto request = kube::WriteOf(kube::kPods, entry.ns, effect.name);
  request.mutable_create()->set_body(*std::move(body));
  host.Write(entry, std::move(request),
             [&host, effect, sent = host.Now()](JobEntry& live, const WriteOutcome& outcome) {
               live.pod_creates.Created(live, effect, sent, outcome, host);
             });
}

void PodCreates::Created(JobEntry& entry, const PodEffect& effect, absl::Time sent, const WriteOutcome& outcome,
                         PartHost& host) {
  const Answer answer = AnswerOf(outcome);
  const Meaning meaning = MeaningOf(answer, kPodCreate);
  if (meaning == Meaning::kLook) {
    // The name stays busy.
    const bool is_taken = answer == Answer::kAlreadyExists;
    return Look(entry, effect, sent, is_taken ? std::optional(outcome.error) : std::nullopt, host);
  }
  entry.pod_writes.Release(effect.name);
  if (meaning == Meaning::kTryAgain) return host.TryAgain(entry, retry_);
  if (meaning == Meaning::kRefused) return Refused(entry, effect, outcome.error, host);
  retry_.Succeed();
  if (std::erase(refused_tasks_, effect.place.task) > 0) probe_retry_.Succeed();
  if (outcome.object.has_pod()) CountCreated(entry, outcome.object.pod(), host);
  if (refused_tasks_.empty()) EndFailedCreate(entry);
  host.Wake(entry);
}

void PodCreates::Refused(JobEntry& entry, const PodEffect& effect, const gateway::v1::KubeError& error,
                         PartHost& host) {
  TryTaskLater(entry, effect.place.task, host);
  if (!runtime::ShouldReportCreate(error, probe_retry_.Lasts(host.Now()))) return;
  host.ReportProblem(entry, "FailedCreate", fmt::format("pod {}: {}", effect.name, error.message()), {effect.name});
}

// The pods of a task are alike: trying one of them now and then shows whether all can be created.
void PodCreates::TryTaskLater(JobEntry& entry, int32_t task, PartHost& host) {
  std::erase(refused_tasks_, task);
  refused_tasks_.push_back(task);
  host.TryAgain(entry, probe_retry_);
}

// Reads the object under the name of a pod whose creation was not confirmed.
void PodCreates::Look(const JobEntry& entry, const PodEffect& effect, absl::Time sent,
                      std::optional<gateway::v1::KubeError> taken, PartHost& host) {
  host.Get(entry, kube::GetOf(kube::kPods, entry.ns, effect.name),
           [&host, effect, sent, taken = std::move(taken)](JobEntry& live,
                                                           const absl::StatusOr<gateway::v1::GetResponse>& response) {
             live.pod_creates.Found(live, effect, sent, taken, response, host);
           });
}

void PodCreates::Found(JobEntry& entry, const PodEffect& effect, absl::Time sent,
                       const std::optional<gateway::v1::KubeError>& taken,
                       const absl::StatusOr<gateway::v1::GetResponse>& response, PartHost& host) {
  entry.pod_writes.Release(effect.name);
  if (!response.ok()) {
    entry.pod_writes.Hold(entry, effect.name, taken ? absl::Seconds(2) : absl::Milliseconds(500), host);
  } else if (response->has_error() && AnswerOfRead(response) != Answer::kNotFound) {
    Refused(entry, effect, response->error(), host);
  } else if (response->has_error() && taken) {
    // The object that had the name is gone since; or the two answers alternate, so that a pause is needed.
    Refused(entry, effect, *taken, host);
  } else if (response->has_object()) {
    FoundPod(entry, effect.name, sent, *response, host);
  }
  host.Wake(entry);
}

void PodCreates::FoundPod(JobEntry& entry, const std::string& pod, absl::Time sent,
                          const gateway::v1::GetResponse& response, PartHost& host) {
  const kube::v1::Pod& found = response.object().pod();
  const std::string& uid = entry.record.uid();
  const PodEntry* const known = entry.pods.Find(pod);
  const bool is_shown = (known != nullptr && known->uid == found.uid()) || entry.pod_changes.IsNewest(pod, found.uid());
  // The watch shows the pod, ours or not, if it is relevant; until then the name is held. The state of our own pod may
  // call for an action, also once the pod is gone.
  if (!is_shown) {
    entry.pod_writes.Hold(entry, pod, found.owner_uid() == uid ? kShownWithin : absl::Seconds(5), host);
  }
  if (response.object().has_pod() && found.owner_uid() != uid) {
    host.ReportProblem(entry, NameIsHeld(pod, found.uid(), found.owner_uid().empty()), {pod, found.uid()});
  } else if (found.creation_ms() >= absl::ToUnixMillis(sent - kClockError)) {
    // This request created the pod. An older pod was counted before, or is another process's to count.
    CountCreated(entry, found, host);
  } else if (response.object().has_pod() && !is_shown &&
             host.Now() - absl::FromUnixMillis(found.creation_ms()) > kShownWithin) {
    host.ReportProblem(entry, LabelIsLost(pod, found, entry.name), {pod, found.uid()});
  }
}

void PodCreates::ReportHeldName(JobEntry& entry, PartHost& host) {
  const std::set<std::string>& held = entry.pods.held();
  const bool is_in_the_way = !held.empty() && MakesPods(entry.job->status().phase());
  if (!held_name_.empty() && (!is_in_the_way || !held.contains(held_name_))) {
    entry.problems.End("FailedCreate", PodSubject(std::exchange(held_name_, {})));
    host.Wake(entry);
  }
  if (!is_in_the_way) return;
  const bool is_news = held_name_.empty();
  if (is_news) held_name_ = *held.begin();
  const PodEntry& pod = *entry.pods.Find(held_name_);
  Problem problem = NameIsHeld(held_name_, pod.uid, pod.has(kPodOrphan));
  if (is_news) return host.ReportProblem(entry, std::move(problem), {held_name_, pod.uid});
  // The problem lasts, and needs no pass of its own.
  entry.problems.Report(std::move(problem), {held_name_, pod.uid}, host.Now(), host.options().event_interval);
}

void PodCreates::EndProblems(JobEntry& entry) {
  // A task that misses no pod is not refused any more, even if its last pod was there all the time.
  const auto has_all = [&facts = entry.pods.facts()](int32_t task) { return !facts.MissesPods(task); };
  if (std::erase_if(refused_tasks_, has_all) > 0 && refused_tasks_.empty()) {
    probe_retry_.Succeed();
    EndFailedCreate(entry);
  }
  if (entry.pods.missing().empty()) EndFailedCreate(entry);
  if (MakesPods(entry.job->status().phase())) return;
  ForgetRefusals();
  entry.problems.End("FailedCreate");
}

void PodCreates::EndFailedCreate(JobEntry& entry) const {
  if (held_name_.empty()) {
    entry.problems.End("FailedCreate");
  } else {
    entry.problems.End("FailedCreate", "");
  }
}

void PodCreates::ForgetRefusals() {
  refused_tasks_.clear();
  held_name_.clear();
  probe_retry_.Succeed();
}

void PodCreates::TryNow() {
  maker_.reset();
  retry_.Succeed();
  ForgetRefusals();
}

}  // namespace basalt::jobsvc
