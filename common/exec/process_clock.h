#pragma once

// The clock of loops that are threads: set by the wall clock when the process starts, then run by a clock that nobody
// sets and that goes on while the machine sleeps. What was promised for a time (a lease) ends when it is over, also if
// the host's clock is set back. Any thread.
#include <ctime>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace basalt {

inline absl::Duration SinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

inline absl::Time ProcessNow() {
  static const absl::Time boot = absl::Now() - SinceBoot();
  return boot + SinceBoot();
}

}  // namespace basalt
