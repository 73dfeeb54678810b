#pragma once

// Measures the cost of TLS: CPU of the suite's processes with TLS and without, and the time until many replicas that
// connect at once have their sessions.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct TlsOptions {
  std::string bin_dir;
  int jobs = 1000;    // Jobs of a round, each of one pod.
  int rounds = 5;     // Rounds with TLS and without, in turn.
  int replicas = 50;  // Replicas that connect at once.
  int storms = 5;
};

absl::StatusOr<std::vector<Figure>> MeasureTls(const TlsOptions& options, const Progress& progress);

}  // namespace basalt::bench
