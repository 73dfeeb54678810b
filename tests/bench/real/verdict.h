#pragma once

// What was measured beside what upstream costs for the same work, and beside our goals. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "tests/bench/real/work.h"

namespace basalt::bench {

// Of Volcano's controller manager v1.16-alpha (Job, PodGroup, Queue and garbage collection only), measured on another
// day on two cores against the same kind of cluster: kube-apiserver 1.36.3, 50 KWOK nodes, its own scheduler, client
// limits that never bind. Events are left out.
struct Upstream {
  double cpu_seconds = 0;
  double peak_mebibytes = 0;
  double writes = 0;
  double status_updates = 0;
  double conflicts = 0;
  int pods = 0;
};

// Which figures of upstream's and which goals belong to a measurement.
enum class Kind { kSmallJobs, kOneJob, kBarePods, kRestart };

struct Row {
  Kind kind = Kind::kSmallJobs;
  Upstream upstream;
  Measured measured;
};

struct Line {
  std::string name, unit;
  double ours = 0;
  double upstream = -1;  // Below zero: not known.
  std::string goal;      // Empty: told for comparison only.
  bool met = true;
};

std::vector<Line> Judge(const Row& row);

// The names of what was measured, their lines, and under them what they consist of.
std::string RealTable(const std::vector<Row>& rows);
json::value RealJson(const std::vector<Row>& rows);

}  // namespace basalt::bench
