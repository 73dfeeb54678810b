#pragma once

// Runs pieces of work on a real cluster of their own, measures our processes, and compares them with upstream's cost of
// the same work and with our goals.
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
  absl::Duration wall;  // Until the work was done, without the rest after it.
  Window window;
};

// Measures the work itself, then its restarts. Returns DEADLINE_EXCEEDED if the work does not complete; the message
// states how far the work came.
absl::StatusOr<std::vector<Measured>> Measure(const Work& work, const BedOptions& options);

// The cost of Volcano's controller manager v1.16-alpha (Job, PodGroup, Queue and garbage collection only), measured on
// another day on two cores against the same kind of cluster: kube-apiserver 1.36.3, 50 KWOK nodes, Volcano's own
// scheduler, and client limits that never bind. Events do not count.
struct Upstream {
  double cpu_seconds = 0;
  double peak_mebibytes = 0;
  double writes = 0;
  double status_updates = 0;
  double conflicts = 0;
  int pods = 0;
};

// Selects upstream's figures and the goals that belong to a measurement.
enum class Kind { kSmallJobs, kOneJob, kBarePods, kRestart };

struct Row {
  Kind kind = Kind::kSmallJobs;
  Upstream upstream;
  Measured measured;
};

// Returns JSON, or a table: for each row the name of the measurement, its lines, and below these the notes. Pure.
std::string ReportOf(const std::vector<Row>& rows, bool as_json);

}  // namespace basalt::bench
