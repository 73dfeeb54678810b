#pragma once

// Reads the resources that one process has used so far: CPU time by thread, and memory as the allocator counts it.
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"

namespace basalt::bench {

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
