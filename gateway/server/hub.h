#pragma once

// The gateway without its reflectors: what is cached goes to the replicas that own it, what they write goes to
// Kubernetes if they own it still. One loop; everything of it runs there.
//
// Another live process under the same name: refused with ALREADY_EXISTS while the one that is attached acknowledges;
// once its oldest batch has waited for the grace period it is taken for dead, its stream is closed with ABORTED and the
// newer one is let in. A second stream of the same incarnation replaces the first at once: the client has given it up.
//
// A slot is opened for its owner when no write of an earlier owner or incarnation for it is under way (correctness 4).
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/loop.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "gateway/route/cache.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/interests.h"
#include "gateway/server/kube_access.h"
#include "gateway/server/ownership.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

struct HubOptions {
  std::string cluster;
  std::string replica = "gateway-0";
  std::string version;
  OwnershipOptions ownership;
  SessionOptions session;
  size_t tombstone_bytes = 16 << 20;  // For each replica.
  absl::Duration interest_period = absl::Seconds(10);
  absl::Duration stats_period = absl::Seconds(1);
};

class Hub : public rpc::GatewayHandler, public CacheListener {
 public:
  // All references outlive the hub; every stream ends (OnClosed) before it.
  Hub(Loop& loop, KubeAccess& kube, obs::Metrics& metrics, const std::vector<std::string>& watches, HubOptions options);
  ~Hub() override;

  Cache& cache() { return cache_; }

  // ---- rpc::GatewayHandler ----
  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

  // ---- CacheListener ----
  void OnState(ObjectId id) override;
  void OnDeparture(ObjectId id, const Departure& departure) override;
  void OnWatch(WatchIndex watch) override;

 private:
  class Stream;
  struct Replica {
    explicit Replica(size_t tombstone_bytes) : tombstones(tombstone_bytes) {}
    v1::Member member;
    Tombstones tombstones;
    Stream* stream = nullptr;
  };
  struct Slot {
    Replica* owner = nullptr;
    bool open = false;  // Nothing of an earlier owner is under way.
    int in_flight = 0;  // Writes, of whoever.
  };
  using ReplicaKey = std::pair<int, std::string>;

  absl::Status Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello);
  absl::Status CheckHello(const v1::Hello& hello) const;
  absl::Status TakeName(const v1::Member& member);
  void Detach(Stream& stream);
  void Settle();
  void MoveSlot(const Ownership::Change& change);
  void OpenIfDrained(v1::ServiceKind service, uint32_t slot);
  void OnWritten(const v1::WriteRequest& request, absl::StatusOr<v1::WriteResponse>& answer);
  v1::Topology MakeTopology() const;
  void UpdateStats();
  Session* SessionOf(Replica& replica) const;

  Loop& loop_;
  KubeAccess& kube_;
  HubMetrics metrics_;
  const HubOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  Ownership ownership_;
  Cache cache_;
  Interests interests_;
  std::map<ReplicaKey, std::unique_ptr<Replica>> replicas_;
  std::array<std::vector<Slot>, kServiceKinds> slots_;
  TimerId settle_timer_ = kNoTimer;
  TimerId stats_timer_ = kNoTimer;
};

}  // namespace basalt::gateway
