#pragma once

// A gateway in this process, set up as its binary does, that reads a cluster from memory (tests/bench/cluster.h): pods
// from a PodSource, everything else from a ScriptedKube. Made and used by one thread; calls block.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/exec/loop.h"
#include "common/http/direct_client.h"
#include "gateway/main/process.h"
#include "tests/bench/pod_source.h"
#include "tests/bench/scripted_kube.h"

namespace basalt::bench {

inline constexpr std::string_view kBenchCluster = "bench";

// Returns the first message of a replica of jobsvc that attaches to a BenchGateway.
gateway::v1::AttachRequest HelloOf(const std::string& replica);

struct BenchGatewayOptions {
  ClusterShape shape;
  int replicas = 1;                                     // The number of replicas of jobsvc that will attach.
  bool expects = true;                                  // The gateway waits for all of them before it assigns slots.
  bool stamps = true;                                   // As in PodSource.
  std::shared_ptr<const rpc::Credentials> credentials;  // The port's. Null if the port has no TLS.
};

class BenchGateway {
 public:
  explicit BenchGateway(const BenchGatewayOptions& options);
  ~BenchGateway();

  absl::Status Start();
  std::string address() const;
  PodSource& source() { return *source_; }
  ScriptedKube& kube() { return kube_; }
  Loop& loop() { return *kube_loop_; }  // A loop for timers and HTTP calls, not the gateway's.

  absl::StatusOr<gateway::v1::Topology> AskTopology();
  // Waits until all events are made, sent and acknowledged, except those of the replica `except`. Calls `meanwhile`
  // between the checks. Returns DEADLINE_EXCEEDED with the last topology.
  absl::Status AwaitSlots(
      const std::string& except = "", const std::function<void()>& meanwhile = [] {});
  // The number of batches that the gateway had sent to its first replica when AwaitSlots returned last.
  int64_t sent() const { return last_.members(0).sent_sequence(); }

 private:
  bool HasSlots(const gateway::v1::Topology& topology, const std::string& except) const;

  const BenchGatewayOptions options_;
  std::atomic<int64_t> version_ = 1000;
  const std::unique_ptr<Loop> kube_loop_;
  ScriptedKube kube_;
  std::unique_ptr<http::DirectClient> others_;
  PodSource* source_ = nullptr;  // Owned by `gateway_`.
  std::unique_ptr<gateway::Process> gateway_;
  std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  gateway::v1::Topology last_;  // The last answer that AwaitSlots got.
};

}  // namespace basalt::bench
