#pragma once

// Reads the resources that a process has used so far. Linux only.
#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

struct ProcessUsage {
  absl::Duration cpu;  // User and system time, of ended threads too.
  int64_t peak_bytes = 0;
  // Resident memory, at the time of the call, that no file backs. The code of libraries, which processes share, does
  // not count.
  int64_t anonymous_bytes = 0;
};

// Returns the CPU time of the calling process, to the microsecond.
absl::Duration OwnCpu();

// Reads /proc, and the CPU time from the clock of the process, which does not count in ticks. Returns NOT_FOUND if
// there is no such process.
absl::StatusOr<ProcessUsage> ReadProcessUsage(pid_t pid);

// Parses the texts of the two files, with `ticks` per second. Returns INVALID_ARGUMENT if a text is not as proc(5)
// describes.
absl::StatusOr<ProcessUsage> ParseProcessUsage(std::string_view stat, std::string_view status, int64_t ticks);

}  // namespace basalt::bench
