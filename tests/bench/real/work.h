#pragma once

// Runs one piece of work on a real cluster of its own, and measures our processes: their writes, from the audit log,
// and their CPU time and memory.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

struct Work {
  std::string name;
  int jobs = 0;
  int pods_per_job = 0;
  int bare_pods = 0;  // Pods without a job, for the gang scheduler.
  // Afterwards all four processes are killed with SIGKILL and restarted twice, with their disks and without.
  bool restarts = false;
  int pods() const { return jobs * pods_per_job + bare_pods; }
};

struct Measured {
  std::string name;
  int jobs = 0;
  int pods = 0;
  absl::Duration wall;
  absl::Duration cpu;      // CPU time of our processes, added up.
  int64_t peak_bytes = 0;  // Peaks of our processes, added up.
  int writes = 0;          // Includes refused writes, without Events.
  int status_updates = 0;
  int conflicts = 0;                   // Creates that were answered 409.
  int refused = 0;                     // Writes that were answered 4xx or 5xx.
  std::map<std::string, int> by_kind;  // "create pods" -> number.
  std::map<std::string, absl::Duration> cpu_by_program;
  std::map<std::string, int64_t> peak_by_program;
};

// Measures the work itself, then its restarts. Returns DEADLINE_EXCEEDED if the work does not complete; the message
// states how far the work came.
absl::StatusOr<std::vector<Measured>> Measure(const Work& work, const BedOptions& options);

}  // namespace basalt::bench
