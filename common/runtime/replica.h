#pragma once

// One replica of a service: attaches to the gateway, keeps the stream, spreads slots over workers, acknowledges the
// batches that they have recorded. Design: correctness rules 1, 3, 4. A service supplies a runtime::Controller.
//
// Lifetime: the loops, store, peers, metrics and health outlive the replica. If the loops have threads of their own,
// call Stop and wait for its `done` before destroying anything. In simulation the replica may be destroyed at any time
// on the one thread, also after its loop was killed.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/kv/kv_store.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/reconcile/back_off.h"
#include "common/rpc/peers.h"
#include "common/rpc/protocols.h"
#include "common/runtime/controller.h"

namespace basalt::runtime {

struct RuntimeOptions {
  std::string cluster = "default";
  std::string version;                         // For people alone.
  rpc::Protocols protocols = rpc::kProtocols;  // A gateway that speaks none of these refuses the replica.
  gateway::v1::ServiceKind service = gateway::v1::SERVICE_KIND_UNSPECIFIED;
  std::string replica;  // Stable name, for example jobsvc-0.
  std::string address;  // The address at which peers reach this process.
  // The secret by which the replica proves its name to the gateway (gateway.v1.Hello.name_secret, with its limits). It
  // must be impossible to guess. A secret in the replica's store takes precedence.
  std::string name_secret;
  absl::Duration write_timeout = absl::Seconds(10);
  BackOffPolicy reattach{.first = absl::Milliseconds(100), .most = absl::Seconds(1)};
  BackOffPolicy resend{.first = absl::Milliseconds(50), .most = absl::Seconds(2)};
  // The service keeps records of its slots, and the records travel with the slots.
  bool keeps_records = true;
  // How long a replica that leaves waits for others to take its slots and records.
  absl::Duration leave_timeout = absl::Seconds(10);
  absl::Duration leave_without_gateway = absl::Seconds(3);
  // Called on the main loop if the store failed or an invariant broke: nothing more is decided or sent. It ends the
  // process.
  std::function<void(const absl::Status&)> on_failure;
};

using ControllerFactory = std::function<std::unique_ptr<Controller>(Context&)>;

// Methods are for any thread and may be repeated, unless they say otherwise.
class Replica {
 public:
  // Makes one worker for each of `worker_loops` (they may be the main loop, or one loop several times). The factory is
  // called here, once for each worker. `peers` is used on the main loop. Metrics and health may be null.
  Replica(RuntimeOptions options, Loop& main_loop, std::vector<Loop*> worker_loops, Random& random, kv::KvStore& store,
          rpc::GatewayPeer& gateway, rpc::PeerDirectory& peers, obs::Metrics* metrics, obs::Health* health,
          const ControllerFactory& factory);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Call it before Start, on the same thread, if the address is not known when the replica is made.
  void SetAddress(std::string address);
  // Loads the store's records and attaches. Call it once.
  void Start();
  // Call it before Stop: gives the replica's slots to others and waits until they have the records, at most for
  // leave_timeout; then calls `done` on the main loop. The wait ends sooner if there is no other replica, or no gateway
  // (leave_without_gateway). Only the first call waits: a later one, and one of a replica that does not run, calls
  // `done` at once.
  void Leave(absl::AnyInvocable<void()> done);
  // Serves the calls of other replicas of the service. The handler is used on the main loop.
  rpc::ReplicaHandler& hand_over();
  // Ends the stream and every worker; then calls `done` on the main loop. Nothing of the replica runs after that. A
  // repeated call calls its `done`, too.
  void Stop(absl::AnyInvocable<void()> done);

  // The member as which this process attaches. Call it after Start.
  const gateway::v1::Member& self() const;
  size_t workers() const;
  static size_t WorkerOf(uint32_t slot, size_t workers) { return slot % workers; }
  // Runs `task` on the loop of the worker that has `slot`, once for each call. The task is dropped if the replica has
  // stopped.
  void OnWorkerOf(uint32_t slot, absl::AnyInvocable<void(Controller&)> task);
  // Runs `task` on the loop of that worker, as OnWorkerOf does.
  void OnWorker(size_t worker, absl::AnyInvocable<void(Controller&)> task);
  // Returns the owner of the key by the last assignment. Nullopt if the key has none.
  std::optional<gateway::v1::Member> OwnerOf(gateway::v1::ServiceKind service, std::string_view key) const;
  // Returns all members of that service in the last assignment.
  std::vector<gateway::v1::Member> Members(gateway::v1::ServiceKind service) const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace basalt::runtime
