// A replica against a scripted gateway, on simulated time.
#include "common/runtime/replica.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/kv/faulty_kv.h"
#include "common/runtime/slot_records.h"

namespace basalt::runtime {
namespace {

using gateway::v1::AttachRequest;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;
using Trace = std::vector<std::string>;

constexpr char kKey[] = "ns/job";
constexpr char kWatch[] = "pods/job";

// What the test plays the gateway with.
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
    ScriptedPeers& peers_;
    std::string name_;
  };
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::PodGroupPeer> PodGroups(const gateway::v1::Member& member) override {
    made.push_back(member.replica());
    return std::make_shared<Peer>(*this, member.replica());
  }
  Trace made;
  Trace asked;
  bool silent = false;
  std::vector<rpc::Done<podgroup::v1::EnsurePodGroupResponse>> unanswered;
};

// A loop that says what is posted to it after it may have been destroyed.
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
    options.version = "1";
    options.service = gateway::v1::SERVICE_KIND_JOB;
    options.replica = "jobsvc-0";
    options.on_failure = [this](const absl::Status& why) { failure_ = why; };
    replica_ = std::make_unique<Replica>(options, loop_, std::move(worker_loops), random_, store_, gateway_, peers_,
                                         nullptr, &health_, [this](Context& context) {
                                           auto made = std::make_unique<RecordingController>(context, trace_);
                                           controllers_.push_back(made.get());
                                           return made;
                                         });
    replica_->Start();
    time_.Settle();
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
    time_.Settle();
    trace_.clear();
  }
  Trace Take() {
    time_.Settle();
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
    time_.Settle();
  }
  void WriteForCaller() {
    WriteRequest request;
    request.set_name("a");
    context().WriteForCaller(kKey, request, [this](WriteOutcome outcome) { outcomes_.push_back(std::move(outcome)); });
    time_.Settle();
  }
  void Answer(absl::StatusOr<WriteResponse> answer) {
    auto done = std::move(gateway_.writes.back().done);
    done(std::move(answer));
    time_.Settle();
  }

  const uint32_t slot_ = SlotOf(kKey);
  SimTime time_;
  SimLoop loop_;
  EndingLoop ending_loop_;
  SeededRandom random_;
  std::shared_ptr<kv::MemDisk> disk_ = kv::MakeMemDisk();
  kv::FaultyKv store_;
  ScriptedGateway gateway_;
  ScriptedPeers peers_;
  obs::Health health_;
  Trace trace_;
  std::vector<RecordingController*> controllers_;
  std::optional<absl::Status> failure_;
  std::vector<WriteOutcome> outcomes_;
  std::unique_ptr<Replica> replica_;
};

// ---- attaching ----

TEST_F(ReplicaTest, SaysWhoItIsAndComesBackAsTheSameProcess) {
  ASSERT_EQ(gateway_.requests.size(), 1U);
  const gateway::v1::Hello first = gateway_.requests[0].hello();
  EXPECT_EQ(first.slot_count(), kSlotCount);
  EXPECT_FALSE(first.self().incarnation().empty());
  SendReadySlot();
  gateway_.Send({Assignment(7)});
  gateway_.Close(absl::UnavailableError("gone"));
  time_.Settle();
  EXPECT_FALSE(gateway_.attached());
  EXPECT_FALSE(health_.IsReady());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.attaches, 2);
  EXPECT_EQ(gateway_.requests.back().hello().self().incarnation(), first.self().incarnation());
  EXPECT_EQ(gateway_.requests.back().hello().last_epoch(), 7);
}

TEST_F(ReplicaTest, BacksOffWhileNobodyAnswers) {
  for (int i = 0; i < 60; ++i) {
    if (gateway_.attached()) gateway_.Close(absl::UnavailableError("not the leader"));
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_GT(gateway_.attaches, 10);
  EXPECT_LT(gateway_.attaches, 75);
}

TEST_F(ReplicaTest, ABatchOutOfTurnEndsTheStream) {
  SendReadySlot();
  gateway_.LoseBatch();
  gateway_.Send({State("b", 20)});
  EXPECT_EQ(Take(), Trace{});
  EXPECT_FALSE(gateway_.attached());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.attaches, 2);
}

// ---- snapshots and rounds ----

TEST_F(ReplicaTest, NoPassRunsForASlotBeforeItsSnapshotHasEnded) {
  gateway_.Send({Assignment(1), Begin(), State("a", 10)});
  context().Wake(kKey);
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_), "state ns/job a@10"}));
  EXPECT_FALSE(context().IsReady(slot_));
  gateway_.Send({State("b", 11), End()});
  EXPECT_EQ(Take(), (Trace{"state ns/job b@11", "decide ns/job", "act ns/job"}));
  EXPECT_TRUE(context().IsReady(slot_));
}

TEST_F(ReplicaTest, PassesPauseWhileASlotIsToldAgain) {
  SendReadySlot();
  gateway_.Close(absl::UnavailableError(""));
  time_.Advance(absl::Seconds(1));
  gateway_.Send({Assignment(1), Begin()});
  context().Wake(kKey);
  EXPECT_EQ(Take(), Trace{}) << "not opened again: it never closed";
  gateway_.Send({State("a", 10), End()});
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, ASlotThatWasAnothersInBetweenIsOpenedAfresh) {
  SendReadySlot();
  gateway_.Send({Begin(2), State("a", 10), End()});
  EXPECT_EQ(Take(), (Trace{fmt::format("close {}", slot_), fmt::format("open {}", slot_), "state ns/job a@10",
                           "decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, WhatAPassageThatWasCutOffHasLeftIsNotBelieved) {
  std::string key;
  kv::PutSlot(key, slot_);
  kv::WriteBatch batch;
  LeaveOnlyHistory(slot_, storage::v1::SlotMeta(), batch);
  batch.Put(kv::Family::kRecords, key + "job", "a page of it");
  batch.Put(kv::Family::kHistory, key + "job", "kept");
  ASSERT_TRUE(store_.Write(batch).ok());
  const auto has = [&](kv::Family family) { return store_.Get(family, key + "job").value().has_value(); };
  gateway_.Send({Assignment(1), Begin()});  // Nobody has its records.
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_)}));
  EXPECT_FALSE(has(kv::Family::kRecords));
  EXPECT_TRUE(has(kv::Family::kHistory));
}

TEST_F(ReplicaTest, WhatTheStoreKnowsGetsAPassAndIsMissedWhenAbsent) {
  controller().known = {{kWatch, kKey, "a", "ns", "a", 10}};
  gateway_.Send({Assignment(1), Begin(), End()});
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_), "gone ns/job a", "decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, AllDecisionsOfARoundAreOneWriteBeforeAnyEffect) {
  SendReadySlot();
  const uint64_t before = store_.writes();
  // Another key of the same slot.
  std::string other;
  for (int i = 0; SlotOf(other = fmt::format("ns/{}", i)) != slot_; ++i) {
  }
  context().Wake(kKey);
  context().Wake(other);
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "decide " + other, "act ns/job", "act " + other}));
  EXPECT_EQ(store_.writes(), before + 1);
}

// ---- acknowledgements ----

TEST_F(ReplicaTest, ABatchIsAcknowledgedWhenWhatItTouchedIsRecorded) {
  gateway_.Send({Assignment(1), Begin(), State("a", 10)});
  time_.Settle();
  EXPECT_EQ(gateway_.last_ack(), 0) << "no pass may run yet";
  gateway_.Send({End()});
  time_.Settle();
  EXPECT_EQ(gateway_.last_ack(), 2);
}

TEST_F(ReplicaTest, NothingIsAcknowledgedOrActedUponThatTheStoreDidNotTake) {
  SendReadySlot();
  const int64_t before = gateway_.last_ack();
  store_.FailWrite(1, absl::DataLossError("disk gone"));
  gateway_.Send({State("b", 20)});
  EXPECT_EQ(Take(), (Trace{"state ns/job b@20", "decide ns/job"}));
  EXPECT_EQ(gateway_.last_ack(), before);
  ASSERT_TRUE(failure_.has_value());
  EXPECT_EQ(failure_->code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(gateway_.attached());
  EXPECT_FALSE(health_.IsReady());
  context().Wake(kKey);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(Take(), Trace{}) << "it never goes on from memory alone";
}

TEST_F(ReplicaTest, AProcessKilledAfterItsWriteHasNotAcknowledged) {
  SendReadySlot();
  const int64_t before = gateway_.last_ack();
  store_.SetHooks(nullptr, [this](uint64_t, const kv::WriteBatch&) {
    loop_.Kill();
    return absl::AbortedError("killed");
  });
  gateway_.Send({State("b", 20)});
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(gateway_.last_ack(), before);
  EXPECT_EQ(trace_, (Trace{"state ns/job b@20", "decide ns/job"}));
}

TEST_F(ReplicaTest, AnAcknowledgementWaitsForEveryEarlierBatch) {
  SendReadySlot();
  const int64_t before = gateway_.last_ack();
  gateway_.Send({Begin(), State("a", 30)});
  time_.Settle();
  gateway_.Send({});
  gateway_.Send({});
  time_.Settle();
  EXPECT_EQ(gateway_.last_ack(), before);
  gateway_.Send({End()});
  time_.Settle();
  EXPECT_EQ(gateway_.last_ack(), before + 4);
}

// ---- writes ----

TEST_F(ReplicaTest, AWriteCarriesItsOwnerAndItsAnswerIsSeenBeforeItsEnd) {
  SendReadySlot();
  Write();
  ASSERT_EQ(gateway_.writes.size(), 1U);
  const WriteRequest& sent = gateway_.writes[0].request;
  EXPECT_EQ(sent.owner().slot(), slot_);
  EXPECT_EQ(sent.owner().slot_epoch(), 1);
  EXPECT_EQ(sent.owner().member().incarnation(), replica_->self().incarnation());
  EXPECT_EQ(sent.timeout_ms(), 10'000);
  WriteResponse response;
  *response.mutable_object() = Pod("a", 2000);
  Answer(response);
  EXPECT_EQ(Take(), (Trace{"state ns/job a@2000", "done", "decide ns/job", "act ns/job"}));
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kDone);
  gateway_.Send({State("a", 1999)});
  EXPECT_EQ(Take(), Trace{}) << "the watch is behind the answer";
}

TEST_F(ReplicaTest, ADeletionThatIsDoneEndsTheObjectBeforeTheWriteEnds) {
  SendReadySlot();
  Write();
  WriteResponse response;
  *response.mutable_object() = Pod("a", 10);
  response.set_gone(true);
  Answer(response);
  EXPECT_EQ(Take(), (Trace{"gone ns/job a", "done", "decide ns/job", "act ns/job"}));
  EXPECT_TRUE(outcomes_[0].gone);
}

TEST_F(ReplicaTest, WhatKubernetesRefusesIsHandedOnAsItIs) {
  SendReadySlot();
  Write();
  WriteResponse response;
  response.mutable_error()->set_code(409);
  response.mutable_error()->set_reason("Conflict");
  Answer(response);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kRefused);
  EXPECT_EQ(outcomes_[0].error.reason(), "Conflict");
}

TEST_F(ReplicaTest, WhatWasSurelyNotSentIsSentAgainUntilItsDeadline) {
  SendReadySlot();
  Write();
  size_t sent = 0;
  while (outcomes_.empty() && sent < 1000) {
    if (gateway_.writes.size() > sent) {
      sent = gateway_.writes.size();
      Answer(absl::UnavailableError("not the leader"));
    }
    time_.Advance(absl::Milliseconds(10));
  }
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kNotSent);
  EXPECT_GT(sent, 5U);
  EXPECT_LT(gateway_.writes.back().request.timeout_ms(), 5000) << "what is left of the deadline, not a new one";
}

TEST_F(ReplicaTest, AnUnknownOutcomeIsReportedOnceTheServerMustHaveGivenUp) {
  for (const auto code : {absl::StatusCode::kUnknown, absl::StatusCode::kDeadlineExceeded}) {
    outcomes_.clear();
    gateway_.writes.clear();
    SendReadySlot();
    Write();
    Answer(absl::Status(code, "lost"));
    time_.Advance(absl::Seconds(9));
    EXPECT_TRUE(outcomes_.empty());
    time_.Advance(absl::Seconds(3));
    ASSERT_EQ(outcomes_.size(), 1U);
    EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kUnknown);
    EXPECT_EQ(gateway_.writes.size(), 1U) << "never sent again by itself";
  }
}

TEST_F(ReplicaTest, AnotherOwnersSlotPausesAndItsWriteIsNotSentAgain) {
  SendReadySlot();
  Write();
  Answer(absl::FailedPreconditionError("not the owner"));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kNotSent);
  EXPECT_EQ(Take(), Trace{"done"}) << "its passes wait";
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "act ns/job"}));
  EXPECT_EQ(gateway_.writes.size(), 1U);
}

TEST_F(ReplicaTest, ASlotThatIsLostTakesItsWritesWithItAndIsReleased) {
  SendReadySlot();
  Write();
  gateway::v1::Member other = Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1");
  gateway_.Send({Assignment(2, {other}, false)});
  EXPECT_EQ(Take(), Trace{fmt::format("close {}", slot_)});
  size_t released = 0;
  for (const AttachRequest& request : gateway_.requests) {
    if (!request.has_released()) continue;
    EXPECT_EQ(request.released().epoch(), 2);
    released += request.released().slots_size();
  }
  EXPECT_EQ(released, kSlotCount) << "opened or not: the new owner waits for each";
  WriteResponse response;
  *response.mutable_object() = Pod("a", 2000);
  Answer(response);
  EXPECT_EQ(Take(), Trace{});
  Write();
  EXPECT_EQ(gateway_.writes.size(), 1U);
  EXPECT_TRUE(outcomes_.empty());
}

// Somebody asked a service for it, and is told whether it was done.
TEST_F(ReplicaTest, AWriteForACallerOutlivesItsSlotAndTouchesNothingOfIt) {
  const std::pair<absl::StatusOr<WriteResponse>, WriteOutcome::Kind> answers[] = {
      {WriteResponse(), WriteOutcome::Kind::kDone},
      {absl::FailedPreconditionError("not the owner"), WriteOutcome::Kind::kNotSent},
      {absl::UnknownError("the connection broke"), WriteOutcome::Kind::kUnknown}};
  int64_t epoch = 1;
  for (const auto& [answer, kind] : answers) {
    gateway_.Send({Assignment(epoch), Begin(epoch), State("a", 10), End()});
    time_.Settle();
    WriteForCaller();
    gateway_.Send({Assignment(++epoch, {Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1")}, false)});
    time_.Settle();
    Take();
    Answer(answer);
    time_.Advance(absl::Seconds(30));
    ASSERT_EQ(outcomes_.size(), 1U);
    EXPECT_EQ(outcomes_[0].kind, kind);
    EXPECT_EQ(Take(), Trace{}) << "no pass";
    outcomes_.clear();
    ++epoch;
  }
}

TEST_F(ReplicaTest, AReadForACallerOutlivesItsSlotAndOneOfAPassDoesNot) {
  gateway_.Send({Assignment(1), Begin(1), State("a", 10), End()});
  time_.Settle();
  int told = 0;
  context().Get(kKey, {}, [&](const auto&) { FAIL() << "whoever has the slot now looks itself"; });
  context().GetForCaller({}, [&](const auto& answer) { told += answer.ok() ? 1 : 0; });
  time_.Settle();
  gateway_.Send({Assignment(2, {Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1")}, false)});
  time_.Settle();
  ASSERT_EQ(gateway_.gets.size(), 2U);
  for (auto& done : gateway_.gets) done(gateway::v1::GetResponse());
  time_.Settle();
  EXPECT_EQ(told, 1);
}

TEST_F(ReplicaTest, AnAnswerAfterTheReplicaHasStoppedIsDropped) {
  SendReadySlot();
  Write();
  bool stopped = false;
  replica_->Stop([&] { stopped = true; });
  time_.Settle();
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(gateway_.attached());
  Answer(WriteResponse());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ReplicaTest, NoAnswerIsBroughtToTheLoopsOfWorkersThatHaveStopped) {
  MakeReplica({&ending_loop_, &ending_loop_});
  gateway_.Send({Assignment(1, {Member(gateway::v1::SERVICE_KIND_POD_GROUP, "pgsvc-0")}), Begin(), End()});
  time_.Settle();
  Write();
  int answers = 0;
  context().Get(kKey, {}, [&](const auto&) { ++answers; });
  peers_.silent = true;
  const std::shared_ptr<rpc::PodGroupPeer> group = context().PodGroupOwner("ns/group");
  ASSERT_NE(group, nullptr);
  group->EnsurePodGroup({}, absl::Seconds(1), [&](const auto&) { ++answers; });
  time_.Settle();
  ASSERT_EQ(gateway_.writes.size(), 1U);
  ASSERT_EQ(gateway_.gets.size(), 1U);
  ASSERT_EQ(peers_.unanswered.size(), 1U);

  replica_->Stop([&] { ending_loop_.ended = true; });
  time_.Settle();
  ASSERT_TRUE(ending_loop_.ended);
  Answer(WriteResponse());
  gateway_.gets.back()(gateway::v1::GetResponse());
  peers_.unanswered.back()(podgroup::v1::EnsurePodGroupResponse());
  time_.Settle();
  EXPECT_EQ(ending_loop_.late_posts, 0);
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(answers, 0);
}

// ---- time, peers, interests ----

TEST_F(ReplicaTest, WakeUpsFollowTheApiServersClock) {
  SendReadySlot();
  const absl::Time api = time_.Now() + absl::Hours(1);
  gateway_.Send({}, absl::ToUnixMillis(api));
  gateway_.Send({State("a", 10)}, absl::ToUnixMillis(api));
  time_.Settle();
  EXPECT_EQ(context().ApiNow(), api);
  context().WakeAt(kKey, api + absl::Seconds(30));
  time_.Advance(absl::Seconds(29));
  EXPECT_EQ(Take(), Trace{});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, FindsTheOwnerOfAPodGroupAndKeepsItsPeer) {
  EXPECT_EQ(context().PodGroupOwner("ns/group"), nullptr);
  const auto pgsvc = [&](const std::string& name) { return Member(gateway::v1::SERVICE_KIND_POD_GROUP, name); };
  gateway_.Send({Assignment(1, {pgsvc("pgsvc-0"), pgsvc("pgsvc-1")})});
  gateway_.Send({Assignment(2, {pgsvc("pgsvc-0"), pgsvc("pgsvc-1")})});
  time_.Settle();
  EXPECT_EQ(peers_.made, (Trace{"pgsvc-0", "pgsvc-1"})) << "once each";
  std::map<std::string, int> owners;
  for (int i = 0; i < 100; ++i) {
    const std::string key = fmt::format("ns/group-{}", i);
    bool answered = false;
    context().PodGroupOwner(key)->EnsurePodGroup({}, absl::Seconds(1), [&](auto answer) { answered = answer.ok(); });
    EXPECT_FALSE(answered) << "never within the call";
    time_.Settle();
    EXPECT_TRUE(answered);
    const auto owner = replica_->OwnerOf(gateway::v1::SERVICE_KIND_POD_GROUP, key);
    ASSERT_TRUE(owner.has_value());
    EXPECT_EQ(owner->replica(), peers_.asked.back());
    ++owners[peers_.asked.back()];
  }
  EXPECT_GT(owners["pgsvc-0"], 20);
  EXPECT_GT(owners["pgsvc-1"], 20);
}

TEST_F(ReplicaTest, AnInterestIsAskedForOnceAndAgainAfterAReattach) {
  SendReadySlot();
  const auto interests = [&] {
    Trace all;
    for (const AttachRequest& request : gateway_.requests) {
      if (request.has_interest()) {
        all.push_back((request.interest().withdraw() ? "-" : "+") + request.interest().name());
      }
    }
    return all;
  };
  context().AddInterest("claims", "ns", "disk");
  context().AddInterest("claims", "ns", "disk");
  time_.Settle();
  EXPECT_EQ(interests(), Trace{"+disk"});
  gateway_.Send({Claim("disk")});
  EXPECT_EQ(Take(), Trace{"shared claims disk"}) << "only who asked for it is told";
  gateway_.Close(absl::UnavailableError(""));
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(interests(), (Trace{"+disk", "+disk"}));
  context().DropInterest("claims", "ns", "disk");
  time_.Settle();
  EXPECT_EQ(interests(), (Trace{"+disk", "+disk", "-disk"}));
}

TEST_F(ReplicaTest, ReadinessSaysWhatIsMissing) {
  const auto why = [&](std::string_view name) {
    for (const auto& target : health_.Targets()) {
      if (target.name == name) return target.ready ? std::string("ready") : target.why;
    }
    return std::string("no such target");
  };
  EXPECT_EQ(why("gateway"), "not attached yet");
  gateway_.Send({Assignment(1)});
  time_.Settle();
  EXPECT_EQ(why("gateway"), "ready");
  EXPECT_EQ(why("slots"), "0 of 1024 slots have their snapshot");
  std::vector<gateway::v1::Item> items;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    items.emplace_back().mutable_begin()->set_slot(slot);
    items.emplace_back().mutable_end()->set_slot(slot);
  }
  gateway_.Send(std::move(items));
  time_.Settle();
  EXPECT_EQ(why("slots"), "ready");
}

}  // namespace
}  // namespace basalt::runtime
