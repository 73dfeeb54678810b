#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace basalt {

using Task = absl::AnyInvocable<void()>;
using TimerId = uint64_t;
inline constexpr TimerId kNoTimer = 0;

// Clock and timers together: faking one without the other leaves sleeps in tests.
class TimeSystem {
 public:
  virtual ~TimeSystem() = default;
  virtual absl::Time Now() const = 0;
  // Runs `task` once at or after `when`; where, the implementation says (a Loop: on the loop). Never zero.
  virtual TimerId RunAt(absl::Time when, Task task) = 0;
  // After it returns on the timer's own loop the task will not run. An id that ran or is unknown is ignored.
  virtual void Cancel(TimerId id) = 0;

  TimerId RunAfter(absl::Duration delay, Task task) { return RunAt(Now() + delay, std::move(task)); }
};

}  // namespace basalt
