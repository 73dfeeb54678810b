#pragma once

// One replica of a service: attaches to the gateway, keeps the stream, spreads slots over workers, acknowledges what
// they have recorded. Design: correctness rules 1, 3, 4; what a service adds is runtime::Controller.
//
// Lifetime: the loops, store, peers, metrics and health outlive the replica. With loops of their own threads call Stop
// and wait for its `done` before destroying anything; in simulation it may be destroyed at any time on the one thread,
// also after its loop was killed.
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
  rpc::Protocols protocols = rpc::kProtocols;  // A gateway that speaks none of them refuses the replica.
  gateway::v1::ServiceKind service = gateway::v1::SERVICE_KIND_UNSPECIFIED;
  std::string replica;  // Stable name, for example jobsvc-0.
  std::string address;  // Where peers reach this process.
  // What the replica proves itself by to the gateway (gateway.v1.Hello.name_secret, with its bounds), unless its store
  // has one from before. Nobody can guess it.
  std::string name_secret;
  absl::Duration write_timeout = absl::Seconds(10);
  BackOffPolicy reattach{.first = absl::Milliseconds(100), .most = absl::Seconds(1)};
  BackOffPolicy resend{.first = absl::Milliseconds(50), .most = absl::Seconds(2)};
  // The service keeps records of its slots: they travel with them.
  bool keeps_records = true;
  // How long a replica that leaves waits for others to take its slots and records.
  absl::Duration leave_timeout = absl::Seconds(10);
  absl::Duration leave_without_gateway = absl::Seconds(3);
  // The store failed or an invariant broke: nothing more is decided or sent. On the main loop; ends the process.
  std::function<void(const absl::Status&)> on_failure;
};

using ControllerFactory = std::function<std::unique_ptr<Controller>(Context&)>;

class Replica {
 public:
  // One worker for each of `worker_loops` (they may be the main loop, or one loop several times). The factory is called
  // here, once for each worker. `peers` is used on the main loop. Metrics and health may be null.
  Replica(RuntimeOptions options, Loop& main_loop, std::vector<Loop*> worker_loops, Random& random, kv::KvStore& store,
          rpc::GatewayPeer& gateway, rpc::PeerDirectory& peers, obs::Metrics* metrics, obs::Health* health,
          const ControllerFactory& factory);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Before Start, where the address is not known when the replica is made.
  void SetAddress(std::string address);
  // Any thread.
  void Start();
  // Before Stop: gives its slots to others and waits until they have the records, as long as leave_timeout allows; then
  // `done` on the main loop. At once where there is nobody to give them to.
  void Leave(absl::AnyInvocable<void()> done);
  // What other replicas of the service ask of this one. Used on the main loop.
  rpc::ReplicaHandler& hand_over();
  // Ends the stream and every worker; then `done` on the main loop. Nothing of the replica runs after that.
  void Stop(absl::AnyInvocable<void()> done);

  // The member that this process attaches as.
  const gateway::v1::Member& self() const;
  size_t workers() const;
  static size_t WorkerOf(uint32_t slot, size_t workers) { return slot % workers; }
  // Runs `task` on the loop of the worker that has `slot`, or of worker `worker`. Dropped when the replica has stopped.
  void OnWorkerOf(uint32_t slot, absl::AnyInvocable<void(Controller&)> task);
  void OnWorker(size_t worker, absl::AnyInvocable<void(Controller&)> task);
  // Who owns the key, as of the last assignment; nullopt while nobody does. Any thread.
  std::optional<gateway::v1::Member> OwnerOf(gateway::v1::ServiceKind service, std::string_view key) const;
  // All members of that service, as of the last assignment. Any thread.
  std::vector<gateway::v1::Member> Members(gateway::v1::ServiceKind service) const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace basalt::runtime
