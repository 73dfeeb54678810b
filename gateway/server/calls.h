#pragma once

// The writes and reads of replicas: checks who may send them, passes them on to Kubernetes if the sender still owns the
// slot (the fence), and reduces the answers to what the sender may receive. Confined to one loop.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/kube/namespace_rules.h"
#include "common/rpc/peers.h"
#include "gateway/access/access_memory.h"
#include "gateway/access/permissions.h"
#include "gateway/kube/kube_access.h"
#include "gateway/ownership/leadership.h"
#include "gateway/route/cache.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/refusals.h"
#include "gateway/server/replicas.h"
#include "gateway/server/slot_moves.h"

namespace basalt::gateway {

class Calls {
 public:
  // All references must outlive this object. `namespaces` are those in which replicas may make requests.
  Calls(Loop& loop, KubeAccess& kube, Cache& cache, const Leadership& leadership, const Replicas& replicas,
        SlotMoves& moves, HubMetrics& metrics, Refusals& refusals, const kube::NamespaceRules& namespaces);
  ~Calls() { *alive_ = false; }

  // Statuses as in rpc::GatewayHandler.
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done);
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done);
  // Remembers what requests about an object that departed may need.
  void OnDeparture(const Departure& departure);

 private:
  // Checks that the sender is an attached replica, owns the slot, and may ask for that object. Counts and logs
  // refusals.
  template <typename Request>
  Permission CheckRequest(const Request& request, Permission (*check)(const Request&, const Known&));
  // Returns the replica that sends, or why the sender is not the process that is known by that name.
  absl::StatusOr<const Replica*> FindSender(const v1::Owner& sender) const;
  Known known(absl::Time stream_began = absl::InfinitePast()) const {
    return {cache_, memory_, namespaces_, loop_.Now(), stream_began};
  }
  // Reads and compares an object that the gateway does not know, and writes with the UID and version that were read.
  void LookAndWrite(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done);
  void WriteFound(v1::WriteRequest request, absl::Time deadline, absl::StatusOr<v1::GetResponse> found,
                  rpc::Done<v1::WriteResponse> done);
  void Send(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done);
  void OnWritten(const v1::WriteRequest& request, const std::string& job_uid,
                 absl::StatusOr<v1::WriteResponse>& answer);
  absl::StatusOr<v1::GetResponse> ReduceAnswer(const v1::GetRequest& request, absl::StatusOr<v1::GetResponse> answer);

  Loop& loop_;
  KubeAccess& kube_;
  Cache& cache_;
  const Leadership& leadership_;
  const Replicas& replicas_;
  SlotMoves& moves_;
  HubMetrics& metrics_;
  Refusals& refusals_;
  const kube::NamespaceRules namespaces_;
  AccessMemory memory_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace basalt::gateway
