#pragma once

// A replica against a scripted gateway, on simulated time; its controllers record their calls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/kv/faulty_kv.h"
#include "common/obs/metrics.h"
#include "common/runtime/replica.h"

namespace basalt::runtime {

using gateway::v1::AttachRequest;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;
using Trace = std::vector<std::string>;

constexpr char kKey[] = "ns/job";
constexpr char kWatch[] = "pods/job";

// The gateway, as the test plays it.
class ScriptedGateway final : public rpc::GatewayPeer {
 public:
  struct SentWrite {
    WriteRequest request;
    rpc::Done<WriteResponse> done;
  };

  std::unique_ptr<rpc::AttachStream> Attach(rpc::AttachObserver& observer) override {
    ++attaches;
    observer_ = &observer;
    sequence_ = 0;
    return std::make_unique<Stream>(*this);
  }
  void Write(WriteRequest request, absl::Duration, rpc::Done<WriteResponse> done) override {
    writes.push_back({std::move(request), std::move(done)});
  }
  void Get(gateway::v1::GetRequest, absl::Duration, rpc::Done<gateway::v1::GetResponse> done) override {
    gets.push_back(std::move(done));
  }

  void Send(std::vector<gateway::v1::Item> items, int64_t api_time_ms = 0) {
    gateway::v1::AttachBatch batch;
    batch.set_sequence(++sequence_);
    if (sequence_ == 1) batch.add_items()->mutable_session_start()->set_token(token);
    batch.set_api_time_ms(api_time_ms);
    for (gateway::v1::Item& item : items) *batch.add_items() = std::move(item);
    observer_->OnBatch(std::move(batch));
  }
  void LoseBatch() { ++sequence_; }
  void Close(const absl::Status& status) { observer_->OnClosed(status); }
  bool attached() const { return attached_; }

  int64_t last_ack() const {
    int64_t ack = 0;
    for (const AttachRequest& request : requests) {
      if (request.has_hello()) ack = 0;
      if (request.has_ack()) ack = request.ack().sequence();
    }
    return ack;
  }

  std::string token = "the token of the session";  // Token of the sessions that begin from now on.
  int attaches = 0;
  std::vector<AttachRequest> requests;
  std::vector<SentWrite> writes;
  std::vector<rpc::Done<gateway::v1::GetResponse>> gets;

 private:
  struct Stream final : rpc::AttachStream {
    explicit Stream(ScriptedGateway& gateway) : gateway_(gateway) { gateway_.attached_ = true; }
    ~Stream() override { gateway_.attached_ = false; }
    void Send(AttachRequest request) override { gateway_.requests.push_back(std::move(request)); }
    ScriptedGateway& gateway_;
  };

  rpc::AttachObserver* observer_ = nullptr;
  int64_t sequence_ = 0;
  bool attached_ = false;
};

struct ScriptedPeers final : rpc::PeerDirectory {
  struct Peer final : rpc::PodGroupPeer {
    Peer(ScriptedPeers& peers, std::string name) : peers_(peers), name_(std::move(name)) {}
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest, absl::Duration,
                        rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      peers_.asked.push_back(name_);
      if (peers_.silent) {
        peers_.unanswered.push_back(std::move(done));
      } else {
        done(podgroup::v1::EnsurePodGroupResponse());
      }
    }
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest, absl::Duration,
                        rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
      done(podgroup::v1::DeletePodGroupResponse());
    }
    ScriptedPeers& peers_;
    std::string name_;
  };
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::ServicePeer> Services(const gateway::v1::Member& member) override {
    if (member.service() != gateway::v1::SERVICE_KIND_POD_GROUP) return nullptr;
    made.push_back(member.replica());
    return std::make_shared<Peer>(*this, member.replica());
  }
  Trace made;
  Trace asked;
  bool silent = false;
  std::vector<rpc::Done<podgroup::v1::EnsurePodGroupResponse>> unanswered;
};

// A loop that counts the tasks posted to it after it may have been destroyed.
struct EndingLoop final : SimLoop {
  using SimLoop::SimLoop;
  void Post(Task task) override {
    if (ended) ++late_posts;
    SimLoop::Post(std::move(task));
  }
  bool ended = false;
  int late_posts = 0;
};

struct RecordingController final : Controller {
  RecordingController(Context& offered, Trace& into) : context(offered), trace(into) {}

  absl::StatusOr<std::vector<KnownObject>> OpenSlot(uint32_t slot) override {
    trace.push_back(fmt::format("open {}", slot));
    return known;
  }
  void CloseSlot(uint32_t slot) override { trace.push_back(fmt::format("close {}", slot)); }
  void OnState(std::string_view key, const std::string&, kube::v1::Object&& object) override {
    trace.push_back(fmt::format("state {} {}@{}", key, object.pod().uid(), object.pod().resource_version()));
  }
  void OnGone(std::string_view key, const Gone& gone) override {
    trace.push_back(fmt::format("gone {} {}", key, gone.uid));
  }
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override {
    trace.push_back(fmt::format("shared {} {}{}", watch, object.generic().meta().name(), gone ? " gone" : ""));
  }
  void Decide(std::string_view key, kv::WriteBatch& batch) override {
    trace.push_back(fmt::format("decide {}", key));
    if (records) batch.Put(kv::Family::kRecords, std::string(key), "record");
  }
  void Act(std::string_view key) override {
    trace.push_back(fmt::format("act {}", key));
    if (on_act) on_act(key);
  }

  Context& context;
  Trace& trace;
  std::vector<KnownObject> known;
  bool records = true;
  std::function<void(std::string_view)> on_act;
};

class ReplicaTest : public ::testing::Test {
 protected:
  ReplicaTest() : loop_(time_, "jobsvc-0"), ending_loop_(time_, "worker"), random_(1), store_(kv::OpenMemKv(disk_)) {
    MakeReplica({&loop_, &loop_});
  }

  void MakeReplica(std::vector<Loop*> worker_loops) {
    controllers_.clear();
    RuntimeOptions options;
    options.cluster = "blue";
    options.version = "1";
    options.service = gateway::v1::SERVICE_KIND_JOB;
    options.replica = "jobsvc-0";
    options.name_secret = name_secret_;
    options.on_failure = [this](const absl::Status& why) { failure_ = why; };
    replica_ = std::make_unique<Replica>(options, loop_, std::move(worker_loops), random_, store_, gateway_, peers_,
                                         metrics_.get(), &health_, [this](Context& context) {
                                           auto made = std::make_unique<RecordingController>(context, trace_);
                                           controllers_.push_back(made.get());
                                           return made;
                                         });
    replica_->Start();
    time_.RunDueTasks();
  }

  // The controller of kKey's slot.
  RecordingController& controller() { return *controllers_[slot_ % 2]; }
  Context& context() { return controller().context; }

  gateway::v1::Member Member(gateway::v1::ServiceKind service, const std::string& name) {
    gateway::v1::Member member;
    member.set_service(service);
    member.set_replica(name);
    return member;
  }
  gateway::v1::Item Assignment(int64_t epoch, std::vector<gateway::v1::Member> others = {}, bool with_self = true) {
    gateway::v1::Item item;
    item.mutable_assignment()->set_epoch(epoch);
    if (with_self) *item.mutable_assignment()->add_members() = replica_->self();
    for (auto& other : others) *item.mutable_assignment()->add_members() = other;
    return item;
  }
  gateway::v1::Item Begin(int64_t epoch = 1) {
    gateway::v1::Item item;
    item.mutable_begin()->set_slot(slot_);
    item.mutable_begin()->set_epoch(epoch);
    return item;
  }
  gateway::v1::Item End(int64_t mark = 1000) {
    gateway::v1::Item item;
    item.mutable_end()->set_slot(slot_);
    auto* added = item.mutable_end()->add_marks();
    added->set_watch(kWatch);
    added->set_resource_version(mark);
    added->set_state(gateway::v1::Mark::STATE_READY);
    return item;
  }
  static kube::v1::Object Pod(const std::string& uid, int64_t rv) {
    kube::v1::Object object;
    object.mutable_pod()->set_namespace_("ns");
    object.mutable_pod()->set_name(uid);
    object.mutable_pod()->set_uid(uid);
    object.mutable_pod()->set_resource_version(rv);
    object.mutable_pod()->set_job_name("job");
    return object;
  }
  gateway::v1::Item State(const std::string& uid, int64_t rv) {
    gateway::v1::Item item;
    item.mutable_state()->set_slot(slot_);
    item.mutable_state()->set_watch(kWatch);
    item.mutable_state()->set_routing_key(kKey);
    *item.mutable_state()->mutable_object() = Pod(uid, rv);
    return item;
  }
  gateway::v1::Item Claim(const std::string& name) {
    gateway::v1::Item item;
    item.mutable_state()->set_slot(kBroadcastSlot);
    item.mutable_state()->set_watch("claims");
    auto* meta = item.mutable_state()->mutable_object()->mutable_generic()->mutable_meta();
    meta->set_namespace_("ns");
    meta->set_name(name);
    meta->set_uid(name);
    meta->set_resource_version(5);
    return item;
  }
  void SendReadySlot() {
    gateway_.Send({Assignment(1), Begin(), State("a", 10), End()});
    time_.RunDueTasks();
    trace_.clear();
  }
  Trace Take() {
    time_.RunDueTasks();
    return std::exchange(trace_, {});
  }
  // Sends a write of kKey; its outcome goes to `outcomes_`.
  void Write() {
    WriteRequest request;
    request.set_name("a");
    context().Write(kKey, request, [this](WriteOutcome outcome) {
      trace_.push_back("done");
      outcomes_.push_back(std::move(outcome));
    });
    time_.RunDueTasks();
  }
  void WriteForCaller() {
    WriteRequest request;
    request.set_name("a");
    context().WriteForCaller(kKey, request, [this](WriteOutcome outcome) { outcomes_.push_back(std::move(outcome)); });
    time_.RunDueTasks();
  }
  void Answer(absl::StatusOr<WriteResponse> answer) {
    auto done = std::move(gateway_.writes.back().done);
    done(std::move(answer));
    time_.RunDueTasks();
  }

  const uint32_t slot_ = SlotOf(kKey);
  std::string name_secret_ = "the name secret of the test";
  SimTime time_;
  SimLoop loop_;
  EndingLoop ending_loop_;
  SeededRandom random_;
  std::shared_ptr<kv::MemDisk> disk_ = kv::MakeMemDisk();
  kv::FaultyKv store_;
  ScriptedGateway gateway_;
  ScriptedPeers peers_;
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  obs::Health health_;
  Trace trace_;
  std::vector<RecordingController*> controllers_;
  std::optional<absl::Status> failure_;
  std::vector<WriteOutcome> outcomes_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace basalt::runtime
