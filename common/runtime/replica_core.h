#pragma once

// The part of a replica on its main loop: the stream, the workers' shares of it, the recorded batches, and the owners
// of slots. For replica*.cc only. Tasks hold it, so that the objects that they need stay alive. Methods run on the main
// loop, but SetAddress and MakeWorkers, which come before Start, and those that are for any thread: OnWorker, view,
// loop, self, worker_count and the methods of WorkerHost.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/runtime/objects/shared_objects.h"
#include "common/runtime/replica.h"
#include "common/runtime/slots/hand_over.h"
#include "common/runtime/worker.h"
#include "common/runtime/worker_interests.h"

namespace basalt::runtime {

// Returns the request by which a replica asks the gateway to take its slots away.
inline gateway::v1::AttachRequest LeaveRequest() {
  gateway::v1::AttachRequest request;
  request.mutable_leave();
  return request;
}
std::vector<gateway::v1::Member> MembersOf(const gateway::v1::Assignment& assignment, gateway::v1::ServiceKind service);
// Returns nullopt if there are no members.
std::optional<size_t> OwnerIndex(const std::vector<gateway::v1::Member>& members, uint32_t slot);

class Replica::Core final : public WorkerHost,
                            public rpc::AttachObserver,
                            public rpc::ReplicaHandler,
                            public std::enable_shared_from_this<Core> {
 public:
  Core(RuntimeOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::GatewayPeer& gateway,
       rpc::PeerDirectory& peers, obs::Metrics* metrics, obs::Health* health);
  void SetAddress(std::string address) { self_.set_address(std::move(address)); }
  void MakeWorkers(const std::vector<Loop*>& loops, Random& random, obs::Metrics* metrics,
                   const ControllerFactory& factory);
  void Start();
  void Leave(absl::AnyInvocable<void()> done);

  // ---- rpc::ReplicaHandler ----
  void ExportRecords(replica::v1::ExportRecordsRequest request,
                     rpc::Done<replica::v1::ExportRecordsResponse> done) override;
  void Stop(absl::AnyInvocable<void()> done);

  // Stops everything at once: only if no other thread can be inside.
  void StopNow();
  Loop& loop() { return loop_; }
  const gateway::v1::Member& self() const { return self_; }
  size_t worker_count() const { return workers_.size(); }
  void OnWorker(size_t index, absl::AnyInvocable<void(Controller&)> task);
  std::shared_ptr<const AssignmentView> view() const;

  // ---- AttachObserver ----
  void OnBatch(gateway::v1::AttachBatch batch) override;
  void OnClosed(const absl::Status& status) override { Reattach(status); }

  // ---- WorkerHost: any thread ----
  void SendWrite(Loop& loop, gateway::v1::WriteRequest request, absl::Duration timeout,
                 rpc::Done<gateway::v1::WriteResponse> done) override;
  void SendGet(Loop& loop, gateway::v1::GetRequest request, absl::Duration timeout,
               rpc::Done<gateway::v1::GetResponse> done) override;
  void CallPeer(Loop& loop, std::shared_ptr<rpc::ServicePeer> peer, PeerCall call) override;
  void SetInterest(size_t worker, std::string watch, std::string ns, std::string name, bool withdraw) override;
  void Recorded(size_t worker, uint64_t stream, int64_t sequence) override;
  void Released(int64_t epoch, std::vector<uint32_t> slots) override;
  void SlotsChanged(size_t worker, size_t ready, std::set<std::string> forbidden) override;
  void Failed(const absl::Status& why) override;

 private:
  struct WorkerState {
    std::shared_ptr<Worker> worker;
    int64_t delivered = 0;  // Sequence of the last batch that had items for the worker.
    int64_t recorded = 0;
    size_t ready = 0;
    std::set<std::string> forbidden;
  };

  // Moves a callback from the main loop to a worker's. Once the replica has stopped, the loops of its workers may be
  // gone.
  template <typename T>
  rpc::Done<T> OnLoop(Loop& loop, rpc::Done<T> done) {
    return [core = shared_from_this(), &loop, done = std::move(done)](absl::StatusOr<T> answer) mutable {
      if (core->stopped_) return;
      loop.Post([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
    };
  }

  void Attach();
  void Taken(int64_t epoch, const std::vector<uint32_t>& slots, const std::vector<uint32_t>& lost);
  void Cleared(const gateway::v1::OrphanedRecords& leftovers);
  void FinishLeave();
  void Reattach(const absl::Status& status);
  void Route(gateway::v1::Item& item, std::vector<std::vector<Worker::Delivery>>& deliveries);
  void Deliver(size_t index, std::vector<Worker::Delivery> deliveries);
  void Acknowledge();
  void SetAssignment(gateway::v1::Assignment assignment, std::vector<std::vector<Worker::Delivery>>& deliveries);
  void UpdateSlotsHealth();
  void ApplyInterest(size_t worker, const WorkerInterests::Key& key, bool withdraw);
  void Fail(const absl::Status& why);
  const RuntimeOptions options_;
  Loop& loop_;
  SeededRandom random_;
  kv::KvStore& store_;
  rpc::GatewayPeer& gateway_;
  rpc::PeerDirectory& peers_;
  obs::Metrics* const metrics_;
  obs::Health* const health_;
  obs::Counter* batches_ = nullptr;
  obs::Counter* items_ = nullptr;
  obs::Gauge* unacknowledged_ = nullptr;
  gateway::v1::Member self_;
  const std::shared_ptr<ApiClock> clock_ = std::make_shared<ApiClock>();
  std::vector<WorkerState> workers_;
  BackOff back_off_;
  bool stopped_ = false;
  bool failed_ = false;
  bool leaving_ = false;
  absl::AnyInvocable<void()> left_;

  std::unique_ptr<Takeover> takeover_;
  std::unique_ptr<Handover> handover_;
  std::unique_ptr<rpc::AttachStream> stream_;
  uint64_t stream_id_ = 0;
  int64_t received_ = 0;
  int64_t acknowledged_ = 0;
  int64_t last_epoch_ = 0;
  std::string name_secret_;
  std::string token_;  // Token of the session. Empty if no gateway has begun one.
  size_t owned_ = 0;
  SharedObjects shared_;
  WorkerInterests interests_;
  std::map<std::string, std::shared_ptr<rpc::ServicePeer>> service_peers_;  // By the serialised member.
  mutable Mutex view_mutex_;
  std::shared_ptr<const AssignmentView> view_ BASALT_GUARDED_BY(view_mutex_);
};

}  // namespace basalt::runtime
