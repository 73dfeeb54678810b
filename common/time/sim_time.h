#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "common/time/time_system.h"

namespace basalt {

// Simulated time stands still until it is advanced. Then it runs every due task in the order (time, registration), in
// the caller's thread. A whole simulation consists of tasks of one SimTime. Not thread-safe.
class SimTime : public TimeSystem {
 public:
  explicit SimTime(absl::Time start = absl::FromUnixSeconds(1'750'000'000)) : now_(start) {}

  absl::Time Now() const override { return now_; }
  TimerId RunAt(absl::Time when, Task task) override;
  void Cancel(TimerId id) override;

  // Moves time to the next task and runs it. Returns false if there is no task.
  bool Step();
  // Runs every task due up to now + `duration`, and moves time to there.
  void Advance(absl::Duration duration);
  // Runs every task that is due now, without moving time.
  void RunDueTasks() { Advance(absl::ZeroDuration()); }
  // Advances step by step until `condition` holds. Returns false if `limit` of simulated time has passed before.
  template <typename Condition>
  bool AdvanceUntil(Condition condition, absl::Duration limit) {
    const absl::Time end = now_ + limit;
    while (!condition()) {
      if (tasks_.empty() || tasks_.begin()->first.first > end) {
        now_ = std::max(now_, end);
        return condition();
      }
      Step();
    }
    return true;
  }

  size_t pending() const { return tasks_.size(); }
  uint64_t steps() const { return steps_; }

 private:
  absl::Time now_;
  TimerId next_id_ = 1;
  uint64_t steps_ = 0;
  std::map<std::pair<absl::Time, TimerId>, Task> tasks_;
  std::map<TimerId, absl::Time> when_;
};

}  // namespace basalt
