#pragma once

// What a process has used so far. Linux only.
#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

struct ProcessUsage {
  absl::Duration cpu;  // User and system, of threads that have ended too.
  int64_t peak_bytes = 0;
  int64_t anonymous_bytes =
      0;  // Now, of what no file backs: code of libraries, which all processes share, is not in it.
};

// Of the calling process, to the microsecond.
absl::Duration OwnCpu();

// From /proc, and CPU from the clock of the process, which does not count in ticks. NOT_FOUND: there is no such
// process.
absl::StatusOr<ProcessUsage> ReadProcessUsage(pid_t pid);

// The two files' texts, `ticks` a second. INVALID_ARGUMENT: they are not as proc(5) says.
absl::StatusOr<ProcessUsage> ParseProcessUsage(std::string_view stat, std::string_view status, int64_t ticks);

}  // namespace basalt::bench
