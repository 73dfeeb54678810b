#include "tests/simulation/faults/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace basalt::simulation {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(5);

}  // namespace

void Replacement::Begin() {
  std::vector<Moment> moments = {Moment::kAnyTime, Moment::kPods, Moment::kKill, Moment::kCollection, Moment::kOver};
  const auto& policies = job_.policies;
  const auto any = [&](auto predicate) { return std::any_of(policies.begin(), policies.end(), predicate); };
  if (any([](const PlannedPolicy& policy) { return policy.timeout > absl::ZeroDuration(); })) {
    moments.insert(moments.end(), 4, Moment::kDeadline);
  }
  if (any([](const PlannedPolicy& policy) { return policy.action.starts_with("Restart"); })) {
    moments.insert(moments.end(), 2, Moment::kRetry);
  }
  if (!job_.commands.empty()) moments.insert(moments.end(), 2, Moment::kCommand);
  Random& random = suite_.random();
  moment_ = moments[random.Uniform(moments.size())];
  gap_ = absl::Milliseconds(random.Uniform(random.OneIn(3) ? 6'000 : 100));
  Await();
}

void Replacement::Await() {
  const auto again = [this] { Await(); };
  if (job_.uid.empty()) {
    suite_.time().RunAfter(absl::Milliseconds(50), again);
    return;
  }
  const absl::Time now = suite_.time().Now();
  Random& random = suite_.random();
  if (limit_ == absl::InfiniteFuture()) {
    limit_ = now + (moment_ == Moment::kAnyTime ? absl::Milliseconds(random.Uniform(20'000)) : absl::Seconds(30));
  }
  if (now < limit_ && !IsMoment()) {
    suite_.time().RunAfter(kLook, again);
    return;
  }
  suite_.time().RunAfter(absl::Milliseconds(random.OneIn(2) ? 0 : random.Uniform(500)), [this] { Delete(); });
}

bool Replacement::IsMoment() {
  const std::string phase = suite_.PhaseOf(job_.name, job_.uid);
  const bool kills = phase == "Restarting" || phase == "Terminating" || phase == "Aborting" || phase == "Completing";
  switch (moment_) {
    case Moment::kAnyTime:
      return false;
    case Moment::kPods:
      return CountPods() > 0;
    case Moment::kKill:
      return kills;
    case Moment::kCollection:
      return suite_.api().IsDeletingCollection();
    case Moment::kDeadline:
      return HasDeadline();
    case Moment::kCommand:
      return std::any_of(job_.commands.begin(), job_.commands.end(), [&](const PlannedCommand& command) {
        return !command.uid.empty() &&
               suite_.api().Get("commands.bus.volcano.sh", "default", CommandName(job_, command)) != nullptr;
      });
    case Moment::kRetry: {
      const auto stored = suite_.JobOf(job_.name, job_.uid);
      const json::value* status = stored == nullptr ? nullptr : Find(*stored, "status");
      return status != nullptr && FindInt(*status, "retryCount") > 0;
    }
    case Moment::kOver:
      return IsFinishedPhase(phase);
  }
  return true;
}

void Replacement::Delete() {
  switch (moment_) {
    case Moment::kKill:
      probes_.Hit("job made anew: pods were being killed");
      break;
    case Moment::kCollection:
      if (suite_.api().IsDeletingCollection()) probes_.Hit("job made anew: pods were being deleted in one call");
      break;
    case Moment::kDeadline:
      if (HasDeadline()) probes_.Hit("job made anew: a deadline was pending");
      break;
    case Moment::kRetry:
      probes_.Hit("job made anew: it had been retried");
      break;
    default:
      break;
  }
  const bool foreground = suite_.random().OneIn(3);
  suite_.Note(fmt::format("{} is deleted{} at moment {}", job_.name, foreground ? " in the foreground" : "",
                          static_cast<int>(moment_)));
  suite_.DeleteObject(fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{}", job_.name), job_.uid,
                      foreground ? "Foreground" : "Background");
  if (faults_ != nullptr) faults_->OnReplaced(job_);
  AwaitEnd();
}

void Replacement::AwaitEnd() {
  if (suite_.JobOf(job_.name, job_.uid) != nullptr) {
    suite_.time().RunAfter(kLook, [this] { AwaitEnd(); });
    return;
  }
  suite_.time().RunAfter(gap_, [this] { Make(); });
}

void Replacement::Make() {
  const bool held = std::any_of(next_.pods.begin(), next_.pods.end(), [&](const std::string& name) {
    return suite_.api().Get("pods", "default", name) != nullptr;
  });
  probes_.Hit("job made anew");
  if (held) probes_.Hit("job made anew: its pods' names were held");
  next_.older_uid = job_.uid;
  submit_();
  suite_.Note(fmt::format("{} is made anew", next_.name));
  if (faults_ != nullptr) faults_->OnReplaced(next_);
}

size_t Replacement::CountPods() const {
  return static_cast<size_t>(std::count_if(job_.pods.begin(), job_.pods.end(), [&](const std::string& name) {
    const auto pod = suite_.api().Get("pods", "default", name);
    return pod != nullptr && FindPath(*pod, {"metadata", "deletionTimestamp"}) == nullptr;
  }));
}

bool Replacement::HasDeadline() {
  const std::string key = "default/" + job_.name;
  const std::string owner = suite_.OwnerOf("jobsvc", key);
  const jobsvc::JobController* const jobs = owner.empty() ? nullptr : suite_.JobsAt(owner);
  const jobsvc::JobEntry* const entry = jobs == nullptr ? nullptr : jobs->Find(key);
  return entry != nullptr && !entry->deadlines.empty();
}

}  // namespace basalt::simulation
