#pragma once

// The figures of several replicas and gateways, each with its goal. scripts/bench replicas calls them.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/cluster.h"
#include "tests/bench/frame.h"

namespace basalt::bench {

// A gateway in this process, set up as its binary does, sends pod events from memory to replicas that only read.
struct GatewayLoadOptions {
  std::string binary;  // The program that is called with --role=readers.
  ClusterShape shape;
  int laps = 5;
  std::vector<int> replicas = {1, 3, 6};
  int bursts = 3;
  int paced_events = 20'000;  // Events at a low rate, to measure an event's delay when no queue is full.
};
// Measures the cost of further replicas for the gateway.
absl::StatusOr<std::vector<Figure>> MeasureFanOut(const GatewayLoadOptions& options, const Progress& progress);
// Measures the cost of a replica that reads nothing for the others.
absl::StatusOr<std::vector<Figure>> MeasureBurst(const GatewayLoadOptions& options, const Progress& progress);

struct MoveOptions {
  std::string bin_dir;
  int jobs = 2000;      // Jobs that exist at the begin.
  int per_second = 50;  // Jobs that are made per second meanwhile.
  int rounds = 5;       // Rounds of leaving and joining.
  int upgrades = 2;     // Upgrades, in which each process ends and starts again, one after the other.
  int crashes = 3;
  int take_overs = 3;
  absl::Duration grace = absl::Seconds(5);
  absl::Duration lease_duration = absl::Seconds(5);
};
// Measures for how long slots of jobsvc are without an owner when replicas leave, join and are killed, and when
// gateways are killed. All run as processes, while jobs are made and run.
absl::StatusOr<std::vector<Figure>> MeasureMoves(const MoveOptions& options, const Progress& progress);

struct RestartOptions {
  std::string bin_dir;  // The directory of jobsvc.
  ClusterShape shape;
  int runs = 5;
};
// Measures the time until a killed replica of jobsvc is ready again, with all pods of the cluster in its slots.
absl::StatusOr<std::vector<Figure>> MeasureReplicaRestart(const RestartOptions& options, const Progress& progress);

struct ShareOptions {
  std::string bin_dir;
  int jobs = 10'000;
  int queues = 400;
  std::vector<int> replicas = {1, 2, 3, 4};  // The others are compared with the first.
  // The suite is at rest after so long. Longer than every delay of a write.
  absl::Duration rest = absl::Seconds(4);
};
// Measures how evenly several replicas share the same load, and how many slots move when one joins.
absl::StatusOr<std::vector<Figure>> MeasureShare(const ShareOptions& options, const Progress& progress);

struct TlsOptions {
  std::string bin_dir;
  int jobs = 1000;    // Jobs of a round, each of one pod.
  int rounds = 5;     // Rounds with TLS and without, in turn.
  int replicas = 50;  // Replicas that connect at once.
  int storms = 5;
};
// Measures CPU of the suite's processes with TLS and without, and the time until many replicas that connect at once
// have their sessions.
absl::StatusOr<std::vector<Figure>> MeasureTls(const TlsOptions& options, const Progress& progress);

}  // namespace basalt::bench
