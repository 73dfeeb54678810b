#pragma once

// The interface between a service and the runtime.
//
// The runtime (common/runtime) attaches to the gateway, opens slots, orders and deduplicates states, decides which
// objects are absent (design rule: absence is not deletion), queues dirty keys, runs passes in rounds and acknowledges
// the recorded batches. A service implements Controller: its decisions. One Controller per worker; everything of a
// worker runs on the worker's loop.
//
// A round: up to kRoundKeys dirty keys of ready slots, each Decide(key, batch) -> one kv write for all of them -> each
// Act(key). A batch from the gateway is acknowledged when every key that the batch touched has been through such a
// write.
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

// Brings a task from the loop of peers to the worker's loop. The task is dropped once the worker has stopped.
using ToWorker = std::function<void(absl::AnyInvocable<void()>)>;
// Calls the peer, on the loop of peers, and brings the answer back. See common/runtime/ask_owner.h.
using PeerCall = absl::AnyInvocable<void(rpc::ServicePeer& peer, ToWorker back)>;

// Slots of one worker. While some of the owned slots are not ready, facts about their keys may be old or missing.
struct SlotCounts {
  size_t owned = 0;
  size_t ready = 0;  // How many of the owned slots are ready.
};

// The runtime as a controller uses it; lives as long as the controller. All methods run on the worker's loop, and none
// blocks. A `done` is called there, too, after the call has returned. Methods may be repeated unless they say
// otherwise.
class Context {
 public:
  virtual ~Context() = default;
  virtual std::string_view cluster() const { return "default"; }  // The name of the cluster.
  virtual Loop& loop() = 0;
  virtual Random& random() = 0;
  virtual kv::KvStore& store() = 0;
  // The API server's clock as the gateway last reported it, run on by the local clock (± 1 s).
  virtual absl::Time ApiNow() const = 0;
  // Marks the key dirty: a pass runs soon, once the key's slot is ready. Calls before the pass are merged. A key whose
  // slot is not ours is ignored.
  virtual void Wake(std::string_view key) = 0;
  // Requests a pass no later than `when` (in ApiNow's terms). An earlier time replaces a later one; a pass does not
  // clear it. A key whose slot is not ours is ignored.
  virtual void WakeAt(std::string_view key, absl::Time when) = 0;
  virtual bool IsReady(uint32_t slot) const = 0;
  // Returns the epoch in which the slot last changed owner. It grows with each new owner, and with each new process of
  // the same owner. 0 if the slot is not ours.
  virtual int64_t SlotEpoch(uint32_t slot) const = 0;
  virtual SlotCounts Slots() const = 0;
  // Sends a write with the owner token of the slot of `key`. The runtime resends a write that was surely not sent, with
  // back-off, until the write's deadline; it never resends any other. The answer's object goes through OnState before
  // `done` is called, and `key` is woken after `done`. If the slot closes meanwhile, `done` is never called. If the
  // slot is not ours, nothing is sent. A repeated call is another write.
  virtual void Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) = 0;
  // Does what Write does, for a caller that waits for the answer: `done` is called even if the slot has closed
  // meanwhile or is not ours, and must not touch what belongs to the slot then. `done` is dropped only if the worker
  // stops or fails. A repeated call is another write.
  virtual void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) = 0;
  // Reads an object of `key` from the API server. The object does not go through OnState. If the slot closes meanwhile,
  // or is not ours, `done` is never called.
  virtual void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) = 0;
  // Does what Get does, for a caller that waits for the answer: `done` is called even if the slot has closed meanwhile
  // or is not ours, and is dropped only if the worker stops or fails.
  virtual void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) = 0;
  // Runs `call` with the member of another service that owns the key there. Returns false, and drops `call`, if no
  // member does. May be repeated if the calls that `call` makes to the peer may.
  virtual bool CallOwner(gateway::v1::ServiceKind service, std::string_view key, PeerCall call) = 0;
  // Merges an object of `key` that another service has answered with: unless it is no news, it comes through OnState or
  // OnGone before this call returns, like the answer to an own write.
  virtual void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) = 0;
  // Requests an object that has no slot of its own; it comes through OnShared until the interest is dropped. A repeated
  // call does not bring the object again.
  virtual void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) = 0;
  // Withdraws the worker's interest, however often it was added. An OnShared that is under way still comes.
  virtual void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) = 0;
  // An invariant broke or the store failed: the process stops serving, reports why, and ends. Only the first call
  // counts.
  virtual void Fail(const absl::Status& why) = 0;
};

// A service's decisions. The runtime makes every call on the worker's loop; none may wait for an answer. A controller
// whose worker stops is destroyed without CloseSlot.
class Controller {
 public:
  virtual ~Controller() = default;

  // Loads the store's records of the slot, before the slot's first state. Comes again only after CloseSlot. An error
  // fails the process.
  virtual absl::StatusOr<std::vector<KnownObject>> OpenSlot(uint32_t slot) = 0;
  // Drops the slot's working set (the store keeps the slot's records).
  virtual void CloseSlot(uint32_t slot) = 0;

  // Gets a state that is newer than any before of that UID; may come before the slot is ready. The runtime marks the
  // routing key dirty. Own writes come this way, too. If another UID had the name, OnGone of that one comes first. The
  // object may be moved from: the runtime does not use it afterwards.
  virtual void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) = 0;
  // The object is gone. The runtime marks the routing key dirty. The end may come again, and may be that of an object
  // that OnState has never brought.
  virtual void OnGone(std::string_view routing_key, const Gone& gone) = 0;
  // Gets broadcast objects and those requested by AddInterest. With `gone`, `object` is the last state. The controller
  // wakes the keys that depend on it. The same state, or the same end, may come again.
  virtual void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) = 0;

  // Gathers the changes of the key, decides, and puts all that must be remembered into `batch`. No effects. Comes
  // again for each pass, also if nothing has changed. May be called without a following Act: before a slot is released.
  virtual void Decide(std::string_view key, kv::WriteBatch& batch) = 0;
  // The batch is durable: carries out the decision (Context::Write and the like). Comes once for each Decide of a
  // round.
  virtual void Act(std::string_view key) = 0;
};

}  // namespace basalt::runtime
