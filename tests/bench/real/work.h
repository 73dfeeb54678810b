#pragma once

// One piece of work on a real cluster of its own: what our processes wrote, from the audit log, and what they used.
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
  int bare_pods = 0;      // Without a job, for the gang scheduler.
  bool restarts = false;  // Afterwards: kill -9 of all four processes, with their disks and without.
  int pods() const { return jobs * pods_per_job + bare_pods; }
};

struct Measured {
  std::string name;
  int jobs = 0;
  int pods = 0;
  absl::Duration wall;
  absl::Duration cpu;      // Of our processes, added up.
  int64_t peak_bytes = 0;  // Their peaks, added up.
  int writes = 0;          // Answered or refused, Events left out.
  int status_updates = 0;
  int conflicts = 0;                   // Creates that were answered 409.
  int refused = 0;                     // Any 4xx or 5xx.
  std::map<std::string, int> by_kind;  // "create pods" -> number.
  std::map<std::string, absl::Duration> cpu_by_program;
  std::map<std::string, int64_t> peak_by_program;
};

// The work itself, then its restarts. DEADLINE_EXCEEDED: it does not come to its end; the message says how far it came.
absl::StatusOr<std::vector<Measured>> Measure(const Work& work, const BedOptions& options);

}  // namespace basalt::bench
