#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "common/exec/loop.h"
#include "common/time/sim_time.h"

namespace basalt {

// The error of a host's clock: `skew`, plus `drift` seconds for each second since `drifts_since`.
struct SimClock {
  absl::Duration skew;
  double drift = 0;
  absl::Time drifts_since;
};

// One process (or host) of a simulation: a loop over the shared SimTime, with its own clock.
// Kill() is kill -9: no task or timer runs any more. The process's objects must be destroyed after Kill().
// Pause() is SIGSTOP: no task runs, but the clock goes on. Resume() runs the tasks that became due meanwhile, in their
// order.
class SimLoop : public Loop {
 public:
  SimLoop(SimTime& time, std::string name, absl::Duration skew = absl::ZeroDuration())
      : SimLoop(time, std::move(name), SimClock{.skew = skew}) {}
  SimLoop(SimTime& time, std::string name, SimClock clock)
      : time_(time), name_(std::move(name)), clock_(clock), state_(std::make_shared<State>()) {}
  ~SimLoop() override { Kill(); }

  absl::Time Now() const override { return LocalTime(time_.Now()); }
  void Post(Task task) override {
    if (alive() && paused()) {
      state_->held.push_back(std::make_shared<Entry>(Entry{state_, std::move(task)}));
    } else {
      Schedule(time_.Now(), std::move(task));
    }
  }
  TimerId RunAt(absl::Time when, Task task) override { return Schedule(SimulatedTime(when), std::move(task)); }
  void Cancel(TimerId id) override {
    if (id == kNoTimer) return;
    time_.Cancel(id);
    std::erase_if(state_->held, [id](const auto& entry) { return entry->id == id; });
  }
  bool IsCurrent() const override { return true; }

  void Kill() {
    state_->alive = false;
    state_->held.clear();
  }
  bool alive() const { return state_->alive; }
  void Pause() { state_->paused = true; }
  void Resume() {
    if (!std::exchange(state_->paused, false)) return;
    time_.RunAt(time_.Now(), [state = state_] {
      while (!state->paused && !state->held.empty()) {
        const std::shared_ptr<Entry> entry = std::move(state->held.front());
        state->held.pop_front();
        entry->task();
      }
    });
  }
  // Returns whether the loop is paused, or still has to run tasks that became due while it was paused.
  bool paused() const { return state_->paused || !state_->held.empty(); }
  const std::string& name() const { return name_; }

 private:
  struct State;
  struct Entry {
    std::shared_ptr<State> state;
    Task task;
    TimerId id = kNoTimer;
  };
  struct State {
    bool alive = true;
    bool paused = false;
    std::deque<std::shared_ptr<Entry>> held;  // The tasks that became due while the loop was paused.
  };

  absl::Time LocalTime(absl::Time now) const {
    if (clock_.drift == 0) return now + clock_.skew;
    return now + clock_.skew + (now - clock_.drifts_since) * clock_.drift;
  }
  // Returns the first moment of simulated time at which this clock shows at least `local`.
  absl::Time SimulatedTime(absl::Time local) const {
    if (clock_.drift == 0) return local - clock_.skew;
    const absl::Time origin = clock_.drifts_since;
    absl::Time when = origin + (local - clock_.skew - origin) / (1 + clock_.drift);
    while (LocalTime(when) < local) when += absl::Nanoseconds(1);
    return when;
  }

  TimerId Schedule(absl::Time when, Task task) {
    auto entry = std::make_shared<Entry>(Entry{state_, std::move(task)});
    entry->id = time_.RunAt(when, [entry] {
      State& state = *entry->state;
      if (!state.alive) return;
      if (state.paused || !state.held.empty()) {
        state.held.push_back(entry);
      } else {
        entry->task();
      }
    });
    return entry->id;
  }

  SimTime& time_;
  const std::string name_;
  const SimClock clock_;
  std::shared_ptr<State> state_;
};

}  // namespace basalt
