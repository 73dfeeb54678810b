#pragma once

// What one process has used so far: CPU time by thread, and memory as its allocator counts it.
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"

namespace basalt::bench {

struct ProcessStats {
  // By thread name, threads of one name added up. Threads that have ended are only in `cpu`.
  std::map<std::string, absl::Duration, std::less<>> threads;
  absl::Duration cpu;
  int64_t allocated_bytes = 0;  // 0: the allocator does not count (sanitizers).
  int64_t resident_bytes = 0;

  absl::Duration Of(std::string_view thread) const;
};

// Of the calling process. Linux only.
ProcessStats ReadProcessStats();

// later - earlier, field by field.
ProcessStats Difference(const ProcessStats& later, const ProcessStats& earlier);

// One line, for the pipe between the two processes of a run.
std::string ToLine(const ProcessStats& stats);
absl::StatusOr<ProcessStats> FromLine(const std::string& line);

// Waits on the calling thread, which is not the loop's, by a timer of the loop.
void Pause(Loop& loop, absl::Duration time);

}  // namespace basalt::bench
