#pragma once

// The clock of loops that have threads. The wall clock sets it when the process starts; from then on it follows a clock
// that cannot be set and that goes on while the machine sleeps. So a promise for a limited time (a lease) ends in time,
// also if the host's clock is set back. Any thread.
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
