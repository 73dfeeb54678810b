#pragma once

// The writes and reads of a worker (correctness rule 4, on the client's side). A request names the owner of its key and
// is sent again, until its deadline, while it surely had no effect. Confined to the worker's loop.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/random.h"
#include "common/obs/metrics.h"
#include "common/reconcile/back_off.h"
#include "common/reconcile/key_queue.h"
#include "common/runtime/api_clock.h"
#include "common/runtime/controller.h"
#include "common/runtime/objects/object_tracker.h"
#include "common/runtime/worker_host.h"
#include "common/runtime/worker_slot.h"

namespace basalt::runtime {

class WorkerWrites : public std::enable_shared_from_this<WorkerWrites> {
 public:
  // The parts of the worker that answers change. All are valid until Stop().
  struct Parts {
    Loop& loop;
    Random& random;
    WorkerSlots& slots;
    ObjectTracker& tracker;
    ApiClock& clock;
    std::optional<KeyQueue>& queue;
  };
  // `metrics` may be null.
  WorkerWrites(Parts parts, const WorkerOptions& options, std::shared_ptr<WorkerHost> host, obs::Metrics* metrics);

  // Nothing is sent any more, and no answer is handled. May be repeated.
  void Halt() { is_running_ = false; }
  // Does the same, and drops what is under way with its callbacks.
  void Stop();
  // A repeated call is another write. `done` is dropped with the slot, unless `for_caller` is true: then `done` is
  // called also if the worker has no such slot.
  void Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done, bool for_caller);
  // `done` is dropped with the slot.
  void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done);
  // `done` is called also if the worker has no such slot.
  void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done);
  // Drops the writes that end with the slot.
  void EndSlot(const WorkerSlot& slot);

 private:
  struct Pending {
    std::string key;
    uint32_t slot = 0;
    uint64_t generation = 0;  // The slot's generation when the write began.
    bool for_caller = false;  // The write outlives its slot.
    gateway::v1::WriteRequest request;
    WriteDone done;
    absl::Time deadline;
    BackOff back_off;
  };

  void Send(uint64_t id);
  void OnAnswer(uint64_t id, absl::StatusOr<gateway::v1::WriteResponse> answer);
  void Finish(uint64_t id, WriteOutcome outcome);
  // Returns whether the slot has stayed open since its generation was that one.
  bool IsOpen(uint32_t slot, uint64_t generation) const;
  void SetOwner(std::string_view key, uint32_t slot, int64_t epoch, gateway::v1::Owner& owner) const;
  void OnNotOwner(uint32_t slot);
  void OnApiTime(int64_t api_time_ms);

  Parts parts_;
  const WorkerOptions& options_;
  std::shared_ptr<WorkerHost> host_;
  std::map<WriteOutcome::Kind, obs::Counter*> counters_;
  bool is_running_ = true;
  std::map<uint64_t, Pending> pending_;
  uint64_t next_id_ = 1;
};

}  // namespace basalt::runtime
