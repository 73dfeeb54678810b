#pragma once

// One worker of a replica: its controller, its slots, its queue, its writes. Everything of it runs on its loop. The
// replica's main loop reaches it by posting; it reaches the main loop through WorkerHost.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/obs/metrics.h"
#include "common/reconcile/back_off.h"
#include "common/reconcile/key_queue.h"
#include "common/runtime/api_clock.h"
#include "common/runtime/controller.h"
#include "common/runtime/objects/object_tracker.h"
#include "common/runtime/objects/shared_objects.h"

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

// All methods run on the worker's loop, but the constructor and SetController, which come before the loop has a task of
// the worker. The methods of Context are described there.
class Worker final : public Context, public ObjectTracker::Sink, public std::enable_shared_from_this<Worker> {
 public:
  using Delivery = std::variant<gateway::v1::Item, std::shared_ptr<const AssignmentView>, SharedEvent>;

  static constexpr size_t kRoundKeys = 128;

  // `metrics` may be null. The host outlives every call that Stop does not cut off.
  Worker(WorkerOptions options, Loop& loop, uint64_t seed, kv::KvStore& store, std::shared_ptr<ApiClock> clock,
         std::shared_ptr<WorkerHost> host, obs::Metrics* metrics);
  void SetController(std::unique_ptr<Controller> controller) { controller_ = std::move(controller); }
  Controller& controller() { return *controller_; }
  bool stopped() const { return stopped_; }

  // ---- from the main loop, by posting ----
  // Begins a stream of the gateway. Call it once for each stream, before the first Deliver of the stream.
  void StartStream(uint64_t stream);
  // Takes the worker's share of a batch. Deliveries of an earlier stream are ignored. Call it once for each batch, in
  // order.
  void Deliver(uint64_t stream, int64_t sequence, std::vector<Delivery> deliveries);
  // Destroys the controller: controller() must not be called afterwards. May be repeated.
  void Stop();
  // The store failed or an invariant broke, here or in another worker: nothing more is decided or sent. May be
  // repeated.
  void Halt() { halted_ = true; }

  // ---- Context ----
  std::string_view cluster() const override { return options_.cluster; }
  Loop& loop() override { return loop_; }
  Random& random() override { return random_; }
  kv::KvStore& store() override { return store_; }
  absl::Time ApiNow() const override { return clock_->Now(loop_.Now()); }
  void Wake(std::string_view key) override;
  void WakeAt(std::string_view key, absl::Time when) override;
  bool IsReady(uint32_t slot) const override;
  int64_t SlotEpoch(uint32_t slot) const override;
  SlotCounts Slots() const override;
  void Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) override {
    StartWrite(key, std::move(request), std::move(done), /*for_caller=*/false);
  }
  void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) override {
    StartWrite(key, std::move(request), std::move(done), /*for_caller=*/true);
  }
  void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) override;
  void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) override;
  bool CallOwner(gateway::v1::ServiceKind service, std::string_view key, PeerCall call) override;
  void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) override;
  void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void Fail(const absl::Status& why) override;

 private:
  struct Slot {
    int64_t epoch = 0;
    uint64_t generation = 0;  // New each time that the slot is opened.
    bool ready = false;
    bool refused = false;       // The gateway refused a write because the slot is not ours: passes pause for a moment.
    std::set<uint64_t> writes;  // The writes that end with the slot.
    // Keys that a batch has touched and that no durable write has covered since, with the first such batch.
    std::unordered_map<std::string, int64_t> unrecorded;
  };

  struct PendingWrite {
    std::string key;
    uint32_t slot = 0;
    uint64_t generation = 0;  // The slot's generation when the write began.
    bool for_caller = false;  // The write outlives its slot.
    gateway::v1::WriteRequest request;
    WriteDone done;
    absl::Time deadline;
    BackOff back_off;
  };

  struct Instruments {
    obs::Counter* rounds = nullptr;
    obs::Counter* passes = nullptr;
    obs::Gauge* dirty = nullptr;
    obs::Gauge* objects = nullptr;
    obs::Gauge* uncertain = nullptr;
    std::map<WriteOutcome::Kind, obs::Counter*> writes;
  };

  void OnState(uint32_t slot, const std::string& routing_key, const std::string& watch,
               kube::v1::Object&& object) override;
  void OnGone(uint32_t slot, const std::string& routing_key, const Gone& gone) override;

  void Handle(gateway::v1::Item& item);
  void SetAssignment(std::shared_ptr<const AssignmentView> view);
  void DecideBeforeRelease(uint32_t slot, kv::WriteBatch& batch);
  absl::Status PrepareRecords(const gateway::v1::SlotBegin& begin);
  void BeginSlot(const gateway::v1::SlotBegin& begin);
  void CloseSlot(uint32_t slot);
  void SetReady(uint32_t slot);
  void ReportSlots();
  void Touch(uint32_t slot, const std::string& key);
  void EndUnrecorded(const std::string& key);
  void ReportRecorded();
  void ScheduleRound();
  void Round();

  void SetOwner(std::string_view key, uint32_t slot, int64_t epoch, gateway::v1::Owner& owner) const;
  void StartWrite(std::string_view key, gateway::v1::WriteRequest request, WriteDone done, bool for_caller);
  void SendWrite(uint64_t id);
  // Returns whether the write's slot has stayed open since the write began.
  bool SlotLives(const PendingWrite& write) const;
  void OnWriteAnswer(uint64_t id, absl::StatusOr<gateway::v1::WriteResponse> answer);
  void FinishWrite(uint64_t id, WriteOutcome outcome);
  void OnNotOwner(uint32_t slot);
  void OnApiTime(int64_t api_time_ms);
  bool Running() const { return !stopped_ && !halted_; }

  const WorkerOptions options_;
  Loop& loop_;
  SeededRandom random_;
  kv::KvStore& store_;
  const std::shared_ptr<ApiClock> clock_;
  std::shared_ptr<WorkerHost> host_;
  Instruments instruments_;
  std::unique_ptr<Controller> controller_;
  ObjectTracker tracker_;
  std::optional<KeyQueue> queue_;
  bool stopped_ = false;
  bool halted_ = false;
  bool round_scheduled_ = false;

  std::shared_ptr<const AssignmentView> assignment_;
  std::map<uint32_t, Slot> slots_;
  uint64_t next_generation_ = 1;

  uint64_t stream_ = 0;
  int64_t sequence_ = 0;  // Sequence of the last batch that was delivered.
  bool delivering_ = false;
  bool slots_changed_ = false;  // Slots have changed since the last report, which comes once per delivery.
  int64_t reported_ = 0;
  std::multiset<int64_t> unrecorded_sequences_;  // The sequences in Slot::unrecorded of all slots.

  std::map<uint64_t, PendingWrite> writes_;
  uint64_t next_write_ = 1;
};

}  // namespace basalt::runtime
