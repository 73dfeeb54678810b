#pragma once

// What a service is to the runtime, and what the runtime is to a service.
//
// The runtime (common/runtime) attaches to the gateway, opens slots, orders and deduplicates states, settles what is
// absent (design rule: absence is not deletion), queues dirty keys, runs passes in rounds and acknowledges what is
// recorded. A service implements Controller: what it decides. One Controller per worker; everything of a worker runs on
// the worker's loop.
//
// A round: up to kRoundKeys dirty keys of ready slots, each Decide(key, batch) -> one kv write for all of them -> each
// Act(key). A batch from the gateway is acknowledged when every key it touched has been through such a write.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/kv/kv_store.h"
#include "common/rpc/peers.h"
#include "common/runtime/objects/known_object.h"
#include "common/runtime/write_outcome.h"

namespace basalt::runtime {

using GetDone = absl::AnyInvocable<void(absl::StatusOr<gateway::v1::GetResponse>)>;

// Brings a task from the loop of peers to the worker's; once the worker has stopped it is dropped.
using ToWorker = std::function<void(absl::AnyInvocable<void()>)>;
// Calls the peer, on the loop of peers, and brings the answer back. See common/runtime/ask_owner.h.
using PeerCall = absl::AnyInvocable<void(rpc::ServicePeer& peer, ToWorker back)>;

// Of one worker. While some of the owned are not ready, what is known of their keys may be old, or nothing.
struct SlotCounts {
  size_t owned = 0;
  size_t ready = 0;  // Of the owned.
};

// Offered by the runtime to a controller; lives as long as the controller. Only on the worker's loop.
class Context {
 public:
  virtual ~Context() = default;
  virtual std::string_view cluster() const { return "default"; }  // The name of the cluster.
  virtual Loop& loop() = 0;
  virtual Random& random() = 0;
  virtual kv::KvStore& store() = 0;
  // The API server's clock as last told by the gateway, run on by the local clock (± 1 s).
  virtual absl::Time ApiNow() const = 0;
  // Marks the key dirty: a pass runs soon, once its slot is ready. Merged.
  virtual void Wake(std::string_view key) = 0;
  // A pass no later than `when` (in ApiNow's terms). An earlier one replaces a later one; a pass does not clear it.
  virtual void WakeAt(std::string_view key, absl::Time when) = 0;
  virtual bool IsReady(uint32_t slot) const = 0;
  // In which the slot last changed owner; grows with each new owner, and with each new process of the same. 0: not
  // ours.
  virtual int64_t SlotEpoch(uint32_t slot) const = 0;
  virtual SlotCounts Slots() const = 0;
  // Sends a write with the owner token of the slot of `key`. The runtime resends what was surely not sent, with
  // back-off, until the write's deadline; it never resends anything else. The answer's object goes through OnState
  // before `done` is called, and `key` is woken after it. If the slot closes meanwhile, `done` is never called.
  virtual void Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) = 0;
  // For somebody who waits for the answer: as Write, but `done` is called also where the slot has closed meanwhile, and
  // must not touch what belongs to the slot then. Only where the worker stops it is dropped.
  virtual void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) = 0;
  // A read from the API server, of an object of `key`. Its object does not go through OnState.
  virtual void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) = 0;
  // For somebody who waits for the answer, as WriteForCaller.
  virtual void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) = 0;
  // Runs `call` with the member of another service that owns the key there. False while nobody does: it is dropped.
  virtual bool CallOwner(gateway::v1::ServiceKind service, std::string_view key, PeerCall call) = 0;
  // What another service has answered of an object of `key`: comes through OnState or OnGone as the answer to an own
  // write does.
  virtual void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) = 0;
  // Asks for an object without a slot of its own; it comes through OnShared until withdrawn.
  virtual void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) = 0;
  virtual void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) = 0;
  // An invariant broke or the store failed: the process stops serving, says why, and ends.
  virtual void Fail(const absl::Status& why) = 0;
};

class Controller {
 public:
  virtual ~Controller() = default;

  // Loads what the store remembers of the slot, before its first state. An error fails the process.
  virtual absl::StatusOr<std::vector<KnownObject>> OpenSlot(uint32_t slot) = 0;
  // Forgets the slot's working set (the store keeps its records).
  virtual void CloseSlot(uint32_t slot) = 0;

  // A state that is newer than any before of that UID; may come before the slot is ready. The runtime marks the routing
  // key dirty. Own writes come this way too. Another UID under the same name: OnGone of the old one comes first. Nobody
  // needs the object afterwards: it may be moved from.
  virtual void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) = 0;
  virtual void OnGone(std::string_view routing_key, const Gone& gone) = 0;
  // Broadcast objects and those asked for by AddInterest. `gone`: the last state. Wake what depends on it.
  virtual void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) = 0;

  // Gathers what changed for the key, decides, and puts all that must be remembered into `batch`. No effects.
  virtual void Decide(std::string_view key, kv::WriteBatch& batch) = 0;
  // The batch is durable: carries out what was decided (Context::Write and the like). Must not block.
  virtual void Act(std::string_view key) = 0;
};

}  // namespace basalt::runtime
