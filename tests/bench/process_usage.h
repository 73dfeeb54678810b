#pragma once

// Reads the resources that a process has used so far. Linux only.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"

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

// What one process of a run reports about itself: CPU time by thread, and memory as the allocator counts it.
struct ProcessStats {
  // CPU time by thread name. Threads with the same name are added up. Threads that have ended are only in `cpu`.
  std::map<std::string, absl::Duration, std::less<>> threads;
  absl::Duration cpu;
  int64_t allocated_bytes = 0;  // 0 if the allocator does not count (sanitizers).
  int64_t resident_bytes = 0;

  absl::Duration Of(std::string_view thread) const;
};

// Returns the stats of the calling process. Linux only.
ProcessStats ReadProcessStats();

// Returns later - earlier, field by field.
ProcessStats Difference(const ProcessStats& later, const ProcessStats& earlier);

// Returns the stats as one line, for the pipe between the two processes of a run.
std::string ToLine(const ProcessStats& stats);
absl::StatusOr<ProcessStats> FromLine(const std::string& line);

// Blocks the calling thread until a timer of the loop fires. Requires: the caller is not on the loop's thread.
void Pause(Loop& loop, absl::Duration time);

}  // namespace basalt::bench
