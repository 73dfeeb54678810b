#pragma once

// Measures one run of the real path: JSON pod events from memory -> gateway (reflector, decoder, cache, session) ->
// gRPC over loopback without TLS -> jobsvc with its decisions -> RocksDB -> acknowledgement. The gateway runs in this
// process as in its binary (gateway::Process), jobsvc in a process of its own (shell::ServiceProcess). Only the API
// server is simulated: tests/bench/pod_source.h and scripted_kube.h.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/cluster.h"
#include "tests/bench/process_usage.h"

namespace basalt::bench {

struct SuiteRunOptions {
  ClusterShape shape;
  int warm_laps = 1;
  int laps = 5;
  // If true, the events change the phase between running and pending. If false, they change only whether the containers
  // are ready, which no status shows, so that no job is written.
  bool phases = true;
  std::string binary;    // The program that is called with --role=jobsvc.
  std::string data_dir;  // An existing directory, in which jobsvc makes its store.
};

struct Lap {
  absl::Duration wall;
  int64_t batches = 0;   // Batches of the gateway's stream to jobsvc.
  ProcessStats gateway;  // Resources that the gateway used in this lap.
  ProcessStats jobsvc;   // Resources that jobsvc used in this lap.
};

struct SuiteResult {
  int events = 0;  // Events of a lap. There is one for each pod, so that no two events can be merged.
  std::vector<Lap> laps;
  ProcessStats gateway_growth;  // The gateway's, from before the first list until every pod is known and recorded.
  ProcessStats jobsvc_growth;   // jobsvc's in the same time.
  absl::Duration snapshot;      // Time from the first byte of the pods until all pods are acknowledged.
  int64_t status_writes = 0;
  bool counts_agree = false;  // At the end every job's status agrees with its pods' last events.
};

// Returns FAILED_PRECONDITION if a process wrote anything that no pod event requires.
absl::StatusOr<SuiteResult> RunSuite(const SuiteRunOptions& options);

// The main function of the other process. Serves until the standard input ends. Answers each line of the standard input
// with a line of ProcessStats.
int RunJobsvc(const std::string& gateway, const std::string& data_dir);

}  // namespace basalt::bench
