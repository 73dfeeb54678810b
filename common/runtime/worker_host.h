#pragma once

// What a worker gets from its replica: the assignment, the options, and the ways to the gateway and to peers.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/reconcile/back_off.h"
#include "common/runtime/controller.h"

namespace basalt::runtime {

// The members of another service by their names, and their peers in the same order.
struct OtherService {
  std::vector<std::string> members;
  std::vector<std::shared_ptr<rpc::ServicePeer>> peers;
};

// The facts that a replica derives from an assignment. Immutable.
struct AssignmentView {
  gateway::v1::Assignment assignment;
  std::vector<bool> owned;  // By slot.
  std::map<gateway::v1::ServiceKind, OtherService> others;
};

// The replica as a worker uses it. Thread-safe; answers are posted to the worker's loop, and dropped once the replica
// has stopped. A repeated SendWrite is another write; the other methods may be repeated.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  virtual void SendWrite(Loop& loop, gateway::v1::WriteRequest request, absl::Duration timeout,
                         rpc::Done<gateway::v1::WriteResponse> done) = 0;
  virtual void SendGet(Loop& loop, gateway::v1::GetRequest request, absl::Duration timeout,
                       rpc::Done<gateway::v1::GetResponse> done) = 0;
  virtual void CallPeer(Loop& loop, std::shared_ptr<rpc::ServicePeer> peer, PeerCall call) = 0;
  virtual void SetInterest(size_t worker, std::string watch, std::string ns, std::string name, bool withdraw) = 0;
  // The worker has recorded all of this stream up to `sequence` that went to it.
  virtual void Recorded(size_t worker, uint64_t stream, int64_t sequence) = 0;
  virtual void Released(int64_t epoch, std::vector<uint32_t> slots) = 0;
  virtual void SlotsChanged(size_t worker, size_t ready, std::set<std::string> forbidden) = 0;
  virtual void Failed(const absl::Status& why) = 0;
};

struct WorkerOptions {
  size_t index = 0;
  size_t workers = 1;
  gateway::v1::Member self;
  std::string cluster = "default";
  absl::Duration write_timeout = absl::Seconds(10);
  BackOffPolicy resend;
  bool keeps_records = true;
};

}  // namespace basalt::runtime
