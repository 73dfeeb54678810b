#pragma once

// One run of the real path: JSON pod events from memory -> gateway (reflector, decoder, cache, session) -> gRPC over
// loopback without TLS -> jobsvc with its decisions -> RocksDB -> acknowledgement. The gateway runs in this process as
// its binary runs it (gateway::Process), jobsvc in a process of its own (shell::ServiceProcess). Only the API server is
// played: tests/bench/pod_source.h and scripted_kube.h.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/cluster.h"
#include "tests/bench/process_stats.h"

namespace basalt::bench {

struct SuiteRunOptions {
  ClusterShape shape;
  int warm_laps = 1;
  int laps = 5;
  // Of what the events tell: the phase, between running and pending; or only whether the containers are ready, which
  // no status shows, so that no job is written.
  bool phases = true;
  std::string binary;    // Called with --role=jobsvc.
  std::string data_dir;  // Exists; jobsvc makes its store in it.
};

struct Lap {
  absl::Duration wall;
  int64_t batches = 0;   // Of the gateway's stream to jobsvc.
  ProcessStats gateway;  // Used in this lap.
  ProcessStats jobsvc;
};

struct SuiteResult {
  int events = 0;  // Of a lap: one for each pod, so that none can be merged with another.
  std::vector<Lap> laps;
  // From before anything is listed until every pod is known and recorded.
  ProcessStats gateway_growth;
  ProcessStats jobsvc_growth;
  absl::Duration snapshot;  // From the first byte of the pods until all of them are acknowledged.
  int64_t status_writes = 0;
  bool counts_agree = false;  // In the end every job's status says what its pods' last events said.
};

// FAILED_PRECONDITION: something was written that no pod event asks for.
absl::StatusOr<SuiteResult> RunSuite(const SuiteRunOptions& options);

// The other process: serves until its standard input ends; each line of it is answered with a line of ProcessStats.
int RunJobsvc(const std::string& gateway, const std::string& data_dir);

}  // namespace basalt::bench
