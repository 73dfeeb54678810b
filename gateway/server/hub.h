#pragma once

// The gateway without its reflectors: sends cached objects to the replicas that own them, and sends the replicas'
// writes to Kubernetes if they still own the objects. Everything runs on one loop. The hub holds its parts together:
// Streams lets replicas in, Membership and SlotMoves give them their slots, Replicas passes changes of the cache on,
// and Calls serves writes and reads.
//
// The hub follows at first: it refuses replicas with UNAVAILABLE until it leads.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "basalt/storage/v1/storage.pb.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/kube/namespace_rules.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "common/rpc/protocols.h"
#include "gateway/kube/kube_access.h"
#include "gateway/lead/assignment_store.h"
#include "gateway/route/cache.h"
#include "gateway/server/calls.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/membership.h"
#include "gateway/server/streams.h"

namespace basalt::gateway {

struct HubOptions {
  std::string cluster;
  std::string replica = "gateway-0";
  std::string version;                         // For people only.
  rpc::Protocols protocols = rpc::kProtocols;  // Replicas that speak none of them are refused.
  OwnershipOptions ownership;
  SessionOptions session;
  size_t tombstone_bytes = 16 << 20;  // For each replica, and for the slots without an owner of each service.
  InterestOptions interests;
  RouteOptions routes;
  kube::NamespaceRules namespaces;  // The namespaces in which replicas may make requests.
  absl::Duration stats_period = absl::Seconds(1);
  absl::Duration save_again = absl::Milliseconds(500);  // The pause after an assignment could not be saved.
  // The limit for each service. Every replica receives the names of all, and they stand in one ConfigMap.
  size_t most_replicas = 128;
  // The time between two refusals that are logged, and between two losses of records. All are counted.
  absl::Duration between_warnings = absl::Seconds(1);
  // Called at each change with a text on how the attached replicas differ from OwnershipOptions.expected. Empty if they
  // do not differ.
  std::function<void(const std::string& differs)> on_members;
  // The slot goes on without the records that existed of it.
  std::function<void(v1::ServiceKind service, uint32_t slot)> on_records_lost;
};

class Hub : public rpc::GatewayHandler, public CacheListener {
 public:
  // All references must outlive the hub. Every stream must end (OnClosed) before the hub.
  Hub(Loop& loop, Random& random, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
      const std::vector<std::string>& watches, const HubOptions& options);
  ~Hub() override;

  Cache& cache() { return cache_; }
  const OwnerInterests& owner_interests() const { return streams_.owner_interests(); }

  // Serves replicas, from the record that the last leader saved. The record is empty if there was none.
  void Lead(const storage::v1::AssignmentRecord& saved);
  // Ends all streams and drops writes that were not sent. `leader` and `leader_address` are those of the leading
  // gateway. Empty if it is not known.
  void Follow(std::string leader, std::string leader_address);
  bool leads() const { return leadership_.leads(); }

  // ---- rpc::GatewayHandler ----
  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

  // ---- CacheListener ----
  void OnState(ObjectId id) override;
  void OnDeparture(ObjectId id, const Departure& departure) override;
  void OnHeldBack(ObjectId id) override { replicas_.OnHeldBack(id); }
  void OnWatch(WatchIndex watch) override { replicas_.OnWatch(watch); }

 private:
  // Shows the replicas in the metrics, again and again while any is attached.
  void ShowStats();

  Loop& loop_;
  KubeAccess& kube_;
  HubMetrics metrics_;
  const std::string version_;
  const absl::Duration stats_period_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  TimerId stats_timer_ = kNoTimer;

  Leadership leadership_;
  Cache cache_;
  Replicas replicas_;
  Refusals refusals_;
  SlotMoves moves_;
  Membership membership_;
  Calls calls_;
  Streams streams_;
};

}  // namespace basalt::gateway
