#pragma once

// Compares measurements with upstream's cost of the same work and with our goals. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "tests/bench/real/work.h"

namespace basalt::bench {

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

struct Line {
  std::string name, unit;
  double ours = 0;
  double upstream = -1;  // Negative if upstream's value is not known.
  std::string goal;      // Empty if the line is reported for comparison only.
  bool met = true;
};

std::vector<Line> CompareRow(const Row& row);

// Returns a table: for each row the name of the measurement, its lines, and below these the notes.
std::string RealTable(const std::vector<Row>& rows);
json::value RealJson(const std::vector<Row>& rows);

}  // namespace basalt::bench
