#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace basalt {

using Task = absl::AnyInvocable<void()>;
using TimerId = uint64_t;
inline constexpr TimerId kNoTimer = 0;

// A clock and its timers, in one interface: a fake of one without the other would leave sleeps in tests.
class TimeSystem {
 public:
  virtual ~TimeSystem() = default;
  virtual absl::Time Now() const = 0;
  // Runs `task` once at or after `when`, on a thread that the implementation states (a Loop runs it on the loop). Never
  // returns kNoTimer.
  virtual TimerId RunAt(absl::Time when, Task task) = 0;
  // Once Cancel has returned on the timer's own loop, the task will not run. A timer that has run, or an unknown id, is
  // ignored.
  virtual void Cancel(TimerId id) = 0;

  TimerId RunAfter(absl::Duration delay, Task task) { return RunAt(Now() + delay, std::move(task)); }
};

}  // namespace basalt
