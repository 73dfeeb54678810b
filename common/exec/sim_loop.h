#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/exec/loop.h"
#include "common/time/sim_time.h"

namespace basalt {

// One process (or host) of a simulation: a loop over the shared SimTime, with a clock that may be off by `skew`.
// After Kill() nothing that was posted or armed ever runs: that is kill -9. Destroy the process's objects after it.
class SimLoop : public Loop {
 public:
  SimLoop(SimTime& time, std::string name, absl::Duration skew = absl::ZeroDuration())
      : time_(time), name_(std::move(name)), skew_(skew), alive_(std::make_shared<bool>(true)) {}
  ~SimLoop() override { Kill(); }

  absl::Time Now() const override { return time_.Now() + skew_; }
  void Post(Task task) override { Schedule(time_.Now(), std::move(task)); }
  TimerId RunAt(absl::Time when, Task task) override { return Schedule(when - skew_, std::move(task)); }
  void Cancel(TimerId id) override { time_.Cancel(id); }
  bool IsCurrent() const override { return true; }

  void Kill() { *alive_ = false; }
  bool alive() const { return *alive_; }
  const std::string& name() const { return name_; }

 private:
  TimerId Schedule(absl::Time when, Task task) {
    return time_.RunAt(when, [alive = alive_, task = std::move(task)]() mutable {
      if (*alive) task();
    });
  }

  SimTime& time_;
  const std::string name_;
  const absl::Duration skew_;
  std::shared_ptr<bool> alive_;
};

}  // namespace basalt
