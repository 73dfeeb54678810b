#pragma once

// One worker of a replica: its controller, its slots, its queue, its writes. Everything of it runs on its loop. The
// replica's main loop reaches it by posting; it reaches the main loop through WorkerHost.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/obs/metrics.h"
#include "common/reconcile/key_queue.h"
#include "common/runtime/api_clock.h"
#include "common/runtime/controller.h"
#include "common/runtime/objects/object_tracker.h"
#include "common/runtime/objects/shared_objects.h"
#include "common/runtime/worker_host.h"
#include "common/runtime/worker_slot.h"
#include "common/runtime/worker_writes.h"

namespace basalt::runtime {

// All methods run on the worker's loop, but the constructor and SetController, which come before the loop has a task of
// the worker. The methods of Context are described there.
class Worker final : public Context, public ObjectTracker::Sink, public std::enable_shared_from_this<Worker> {
 public:
  using Delivery = std::variant<gateway::v1::Item, std::shared_ptr<const AssignmentView>, SharedEvent>;

  static constexpr size_t kRoundKeys = 128;

  // `metrics` may be null. The host outlives every call that Stop does not cut off.
  Worker(WorkerOptions options, Loop& loop, uint64_t seed, kv::KvStore& store, std::shared_ptr<ApiClock> clock,
         std::shared_ptr<WorkerHost> host, obs::Metrics* metrics);
  ~Worker() override { writes_->Halt(); }
  void SetController(std::unique_ptr<Controller> controller) { controller_ = std::move(controller); }
  // Returns null once the worker has stopped.
  Controller* controller() { return controller_.get(); }

  // ---- from the main loop, by posting ----
  // Begins a stream of the gateway. Call it once for each stream, before the first Deliver of the stream.
  void StartStream(uint64_t stream);
  // Takes the worker's share of a batch. Deliveries of an earlier stream are ignored. Call it once for each batch, in
  // order.
  void Deliver(uint64_t stream, int64_t sequence, std::vector<Delivery> deliveries);
  // Destroys the controller. May be repeated.
  void Stop();
  // The store failed or an invariant broke, here or in another worker: nothing more is decided or sent. May be
  // repeated.
  void Halt() {
    halted_ = true;
    if (writes_ != nullptr) writes_->Halt();
  }

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
    writes_->Write(key, std::move(request), std::move(done), /*for_caller=*/false);
  }
  void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) override {
    writes_->Write(key, std::move(request), std::move(done), /*for_caller=*/true);
  }
  void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) override {
    writes_->Get(key, std::move(request), std::move(done));
  }
  void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) override {
    writes_->GetForCaller(key, std::move(request), std::move(done));
  }
  bool CallOwner(gateway::v1::ServiceKind service, std::string_view key, PeerCall call) override;
  void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) override;
  void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void Fail(const absl::Status& why) override;

 private:
  struct Instruments {
    obs::Counter* rounds = nullptr;
    obs::Counter* passes = nullptr;
    obs::Gauge* dirty = nullptr;
    obs::Gauge* objects = nullptr;
    obs::Gauge* uncertain = nullptr;
  };

  void OnState(uint32_t slot, const std::string& routing_key, const std::string& watch,
               kube::v1::Object&& object) override;
  void OnGone(uint32_t slot, const std::string& routing_key, const Gone& gone) override;

  void Handle(gateway::v1::Item& item);
  void SetAssignment(std::shared_ptr<const AssignmentView> view);
  void DecideBeforeRelease(uint32_t slot, kv::WriteBatch& batch);
  void BeginSlot(const gateway::v1::SlotBegin& begin);
  void CloseSlot(uint32_t slot);
  void SetReady(uint32_t slot);
  void Touch(uint32_t slot, const std::string& key);
  void ReportRecorded();
  void ScheduleRound();
  void Round();

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
  WorkerSlots slots_;
  uint64_t next_generation_ = 1;

  uint64_t stream_ = 0;
  RecordedBatches recorded_;
  bool slots_changed_ = false;  // Slots have changed since the last report, which comes once per delivery.
  const std::shared_ptr<WorkerWrites> writes_;
};

}  // namespace basalt::runtime
