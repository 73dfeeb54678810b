#include "kubesim/actors/node/pod_run.h"

#include <algorithm>
#include <utility>

namespace basalt::actors {
namespace {

constexpr absl::Duration kFirstBackOff = absl::Seconds(10);
constexpr absl::Duration kMostBackOff = absl::Minutes(5);
constexpr absl::Duration kLongRun = absl::Minutes(10);
constexpr int kSigkill = 137;
constexpr int kSigterm = 143;

}  // namespace

void PodRun::Observe(const json::value& pod) {
  if (deleting_) return;
  const json::value* at = FindPath(pod, {"metadata", "deletionTimestamp"});
  deleting_ = at != nullptr && at->is_string();
}

absl::Time PodRun::Advance(absl::Time now) {
  if (deleting_ && !terminal()) Stop(now);
  while (!terminal() && Step(now)) changed_ = true;
  return terminal() || removable() ? absl::InfiniteFuture() : NextDue();
}

bool PodRun::TakeChanged() { return std::exchange(changed_, false); }

bool PodRun::Step(absl::Time now) {
  if (deleting_) return false;
  if (StepInit(now)) return true;
  if (ready_for_main_ == absl::InfiniteFuture() && !main_started_) return false;
  return StepMain(now);
}

// Makes the next change of the init containers that is due. Returns whether there was one.
bool PodRun::StepInit(absl::Time now) {
  absl::Time at = start_time_;
  for (Container& container : init_) {
    if (container.sidecar) {
      if (container.state == State::kWaiting && !container.backing_off) {
        StartContainer(container, at);
        container.due = absl::InfiniteFuture();
        return true;
      }
      continue;
    }
    if (container.state == State::kTerminated && container.ended.exit_code == 0) {
      at = container.ended.finished;
      continue;
    }
    if (container.state == State::kTerminated) {  // The container failed and is not restarted.
      Finish(container.ended.finished);
      return true;
    }
    if (container.state == State::kWaiting && !container.backing_off) {
      StartContainer(container, at);
      return true;
    }
    return StepContainer(container, now, false, restart_policy_ != "Never");
  }
  if (ready_for_main_ == absl::InfiniteFuture()) ready_for_main_ = at;
  return false;
}

bool PodRun::StepMain(absl::Time now) {
  if (!main_started_) {
    main_started_ = true;
    for (Container& container : main_) StartContainer(container, ready_for_main_);
    phase_ = "Running";
    SetConditions(ready_for_main_);
    return true;
  }
  // The earliest change comes first, so that the order of changes does not depend on how late Advance() is called.
  Container* first = nullptr;
  absl::Time earliest = absl::InfiniteFuture();
  for (Container& container : main_) {
    if (container.state == State::kTerminated) continue;
    const bool unready = container.state == State::kRunning && !container.ready;
    const absl::Time due = unready ? std::min(container.due, container.ready_at) : container.due;
    if (due > now || due >= earliest) continue;
    first = &container;
    earliest = due;
  }
  if (first != nullptr) {
    return StepContainer(*first, now, restart_policy_ == "Always", restart_policy_ != "Never");
  }
  for (const Container& container : main_) {
    if (container.state != State::kTerminated) return false;
  }
  absl::Time at = start_time_;
  for (const Container& container : main_) at = std::max(at, container.ended.finished);
  Finish(at);
  return true;
}

bool PodRun::StepContainer(Container& container, absl::Time now, bool restart_on_success, bool restart_on_failure) {
  if (container.state == State::kRunning && !container.ready && container.ready_at <= std::min(now, container.due)) {
    container.ready = true;
    SetConditions(container.ready_at);
    return true;
  }
  if (container.due > now) return false;
  const absl::Time at = container.due;
  if (container.state == State::kWaiting) {
    StartContainer(container, at);
    return true;
  }
  EndContainer(container, at, container.plan.exit_code);
  if (container.ended.exit_code == 0 ? restart_on_success : restart_on_failure) {
    if (at - container.started >= kLongRun) container.quick_restarts = 0;
    const int n = container.quick_restarts++;
    ++container.restarts;
    container.last = container.ended;
    if (n == 0) {
      StartContainer(container, at);
    } else {
      container.state = State::kWaiting;
      container.backing_off = true;
      container.due = at + std::min(kFirstBackOff * (1 << std::min(n - 1, 10)), kMostBackOff);
    }
  }
  SetConditions(at);
  return true;
}

void PodRun::StartContainer(Container& container, absl::Time at) {
  started_any_ = true;
  container.state = State::kRunning;
  container.backing_off = false;
  container.started = at;
  container.due = at + container.plan.duration;
  container.ready_at = at + container.ready_after;
  container.ready = container.ready_after <= absl::ZeroDuration();
  SetConditions(at);
}

void PodRun::EndContainer(Container& container, absl::Time at, int exit_code) {
  container.state = State::kTerminated;
  container.ended = {container.started, at, exit_code};
  container.due = absl::InfiniteFuture();
  container.ready = false;
}

bool PodRun::Disrupt(absl::Time now, std::string reason) {
  if (terminal()) return false;
  SetCondition("DisruptionTarget", true, now, std::move(reason), "the pod is about to end");
  changed_ = true;
  return true;
}

bool PodRun::Evict(absl::Time now) {
  if (!started_any_ || !Disrupt(now, "TerminationByKubelet")) return false;
  reason_ = "Evicted";
  EndAll(now, kSigkill);
  return true;
}

// Ends running containers by SIGTERM. Containers that have ended by `now` keep their exit codes.
void PodRun::Stop(absl::Time now) {
  if (!started_any_) return;
  deleting_ = false;
  while (!terminal() && Step(now)) continue;
  deleting_ = true;
  if (!terminal()) EndAll(now, kSigterm);
  changed_ = true;
}

void PodRun::EndAll(absl::Time now, int exit_code) {
  for (std::vector<Container>* containers : {&init_, &main_}) {
    for (Container& container : *containers) {
      if (container.state == State::kRunning) EndContainer(container, now, exit_code);
      if (container.state == State::kWaiting && container.last.has_value()) {
        container.state = State::kTerminated;
        container.ended = *container.last;
      }
    }
  }
  Finish(now);
}

void PodRun::Finish(absl::Time at) {
  bool failed = false;
  for (Container& container : init_) {
    if (container.sidecar && container.state == State::kRunning) EndContainer(container, at, 0);
    if (!container.sidecar && container.state == State::kTerminated && container.ended.exit_code != 0) failed = true;
  }
  for (const Container& container : main_) {
    if (container.state != State::kTerminated || container.ended.exit_code != 0) failed = true;
  }
  phase_ = failed ? "Failed" : "Succeeded";
  SetConditions(at);
}

absl::Time PodRun::NextDue() const {
  absl::Time next = absl::InfiniteFuture();
  for (const std::vector<Container>* containers : {&init_, &main_}) {
    for (const Container& container : *containers) {
      if (container.state == State::kTerminated || container.sidecar) continue;
      if (container.state == State::kRunning && !container.ready) next = std::min(next, container.ready_at);
      if (container.state == State::kRunning || container.backing_off) next = std::min(next, container.due);
    }
  }
  return next;
}

}  // namespace basalt::actors
