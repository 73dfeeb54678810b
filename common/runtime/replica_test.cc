// The messages that a replica gets, their effects, and its messages to the gateway.
#include "common/runtime/replica.h"

#include <map>

#include "common/rpc/held_slots.h"
#include "common/runtime/ask_owner.h"
#include "common/runtime/replica_fixture.h"
#include "common/runtime/slots/slot_records.h"

namespace basalt::runtime {
namespace {

// ---- attaching ----

TEST_F(ReplicaTest, SaysWhoItIsAndComesBackAsTheSameProcess) {
  ASSERT_EQ(gateway_.requests.size(), 1U);
  const gateway::v1::Hello first = gateway_.requests[0].hello();
  EXPECT_EQ(first.slot_count(), kSlotCount);
  EXPECT_FALSE(first.self().incarnation().empty());
  EXPECT_EQ(first.cluster(), "blue");
  EXPECT_EQ(context().cluster(), "blue");
  SendReadySlot();
  gateway_.Send({Assignment(7)});
  gateway_.Close(absl::UnavailableError("gone"));
  time_.RunDueTasks();
  EXPECT_FALSE(gateway_.attached());
  EXPECT_FALSE(health_.IsReady());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.attaches, 2);
  EXPECT_EQ(gateway_.requests.back().hello().self().incarnation(), first.self().incarnation());
  EXPECT_EQ(gateway_.requests.back().hello().last_epoch(), 7);
}

TEST_F(ReplicaTest, TheNameSecretOfItsStoreOutlivesTheProcess) {
  EXPECT_EQ(gateway_.requests[0].hello().name_secret(), "the name secret of the test");
  name_secret_ = "a secret of another life";
  gateway_.requests.clear();
  MakeReplica({&loop_, &loop_});
  EXPECT_EQ(gateway_.requests[0].hello().name_secret(), "the name secret of the test");
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

// The two bytes of such a number in a key are those of another slot.
TEST_F(ReplicaTest, ABatchAboutWhatIsNoSlotEndsTheStream) {
  std::vector<gateway::v1::Item> items(6);
  items[0].mutable_begin()->set_slot(kSlotCount);
  items[1].mutable_end()->set_slot(kSlotCount);
  items[2].mutable_grant()->set_slot(kSlotCount);
  items[3].mutable_state()->set_slot(kSlotCount);
  items[4].mutable_tombstone()->set_slot(kSlotCount);
  items[5].mutable_orphaned_records()->add_inventory()->add_slots(kSlotCount);
  for (const gateway::v1::Item& item : items) {
    SCOPED_TRACE(item.ShortDebugString());
    SendReadySlot();
    gateway_.Send({item, State("b", 20)});
    EXPECT_EQ(Take(), Trace{});
    EXPECT_FALSE(gateway_.attached());
    time_.Advance(absl::Seconds(2));
    EXPECT_TRUE(gateway_.attached());
  }
  EXPECT_FALSE(failure_.has_value());
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

TEST_F(ReplicaTest, TheRestOfACutOffPassageIsDropped) {
  std::string key;
  kv::PutSlot(key, slot_);
  kv::WriteBatch batch;
  LeaveOnlyHistory(slot_, storage::v1::SlotMeta(), batch);
  batch.Put(kv::Family::kRecords, key + "job", "a page of it");
  batch.Put(kv::Family::kHistory, key + "job", "kept");
  ASSERT_TRUE(store_.Write(batch).ok());
  const auto has = [&](kv::Family family) { return store_.Get(family, key + "job").value().has_value(); };
  gateway_.Send({Assignment(1), Begin()});  // No replica has the slot's records.
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_)}));
  EXPECT_FALSE(has(kv::Family::kRecords));
  EXPECT_TRUE(has(kv::Family::kHistory));
}

// The ownership of the slot's records is unknown.
TEST_F(ReplicaTest, ASlotOrEpochThatCannotBeReadIsDroppedAndTheRestIsHeld) {
  const uint32_t other = slot_ + 1;
  std::string of_slot;
  kv::PutSlot(of_slot, slot_);
  kv::WriteBatch batch;
  PutSlotEpoch(other, 7, batch);
  batch.Put(kv::Family::kMeta, "slot" + of_slot, "\xff");
  batch.Put(kv::Family::kMeta, "!epoch", "no");
  batch.Put(kv::Family::kRecords, of_slot + "job", "of some ownership");
  batch.Put(kv::Family::kHistory, of_slot + "job", "kept");
  ASSERT_TRUE(store_.Write(batch).ok());
  gateway_.requests.clear();
  MakeReplica({&loop_, &loop_});
  ASSERT_FALSE(failure_.has_value()) << *failure_;
  ASSERT_FALSE(gateway_.requests.empty());
  const gateway::v1::Hello& hello = gateway_.requests.front().hello();
  EXPECT_EQ(hello.last_epoch(), 7) << "the highest that it can tell of";
  std::vector<uint32_t> held;
  rpc::ForEachHeldSlot(hello.record_inventory(), [&](uint32_t slot, int64_t, bool) { held.push_back(slot); });
  EXPECT_EQ(held, std::vector<uint32_t>{other});
  for (const char* kind : {"slot", "epoch"}) {
    EXPECT_EQ(metrics_->GetCounter("basalt_store_damaged_records_total", "", {{"kind", kind}}).Value(), 1) << kind;
  }
  gateway_.Send({Assignment(8), Begin(8)});
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_)}));
  EXPECT_FALSE(store_.Get(kv::Family::kRecords, of_slot + "job").value().has_value());
  EXPECT_TRUE(store_.Get(kv::Family::kHistory, of_slot + "job").value().has_value());
}

TEST_F(ReplicaTest, AStoredObjectGetsAPassAndIsGoneIfAbsent) {
  controller().known = {{kWatch, kKey, "a", "ns", "a", 10}};
  gateway_.Send({Assignment(1), Begin(), End()});
  EXPECT_EQ(Take(), (Trace{fmt::format("open {}", slot_), "gone ns/job a", "decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, AllDecisionsOfARoundAreOneWriteBeforeAnyEffect) {
  SendReadySlot();
  const uint64_t before = store_.writes();
  // Finds another key of the same slot.
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
  time_.RunDueTasks();
  EXPECT_EQ(gateway_.last_ack(), 0) << "no pass may run yet";
  gateway_.Send({End()});
  time_.RunDueTasks();
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
  time_.RunDueTasks();
  gateway_.Send({});
  gateway_.Send({});
  time_.RunDueTasks();
  EXPECT_EQ(gateway_.last_ack(), before);
  gateway_.Send({End()});
  time_.RunDueTasks();
  EXPECT_EQ(gateway_.last_ack(), before + 4);
}

// ---- time, peers, interests ----

TEST_F(ReplicaTest, WakeUpsFollowTheApiServersClock) {
  SendReadySlot();
  const absl::Time api = time_.Now() + absl::Hours(1);
  gateway_.Send({}, absl::ToUnixMillis(api));
  gateway_.Send({State("a", 10)}, absl::ToUnixMillis(api));
  time_.RunDueTasks();
  EXPECT_EQ(context().ApiNow(), api);
  context().WakeAt(kKey, api + absl::Seconds(30));
  time_.Advance(absl::Seconds(29));
  EXPECT_EQ(Take(), Trace{});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "act ns/job"}));
}

TEST_F(ReplicaTest, AnotherServiceIsAskedAtTheOwnerOfAKeyWhosePeerIsKept) {
  bool answered = false;
  const auto ask = [&](gateway::v1::ServiceKind service, const std::string& key) {
    answered = false;
    return AskOwner(context(), service, key, &rpc::PodGroupPeer::EnsurePodGroup, {}, absl::Seconds(1),
                    [&](const auto& answer) { answered = answer.ok(); });
  };
  EXPECT_FALSE(ask(gateway::v1::SERVICE_KIND_POD_GROUP, "ns/group")) << "before the first assignment";
  const auto pgsvc = [&](const std::string& name) { return Member(gateway::v1::SERVICE_KIND_POD_GROUP, name); };
  gateway_.Send({Assignment(1, {pgsvc("pgsvc-0"), pgsvc("pgsvc-1")})});
  gateway_.Send({Assignment(2, {pgsvc("pgsvc-0"), pgsvc("pgsvc-1")})});
  time_.RunDueTasks();
  EXPECT_EQ(peers_.made, (Trace{"pgsvc-0", "pgsvc-1"})) << "once each";
  EXPECT_FALSE(ask(gateway::v1::SERVICE_KIND_QUEUE, "ns/group")) << "it has no members";
  std::map<std::string, int> owners;
  for (int i = 0; i < 100; ++i) {
    const std::string key = fmt::format("ns/group-{}", i);
    ASSERT_TRUE(ask(gateway::v1::SERVICE_KIND_POD_GROUP, key));
    EXPECT_FALSE(answered) << "never within the call";
    time_.RunDueTasks();
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
  time_.RunDueTasks();
  EXPECT_EQ(interests(), Trace{"+disk"});
  gateway_.Send({Claim("disk")});
  EXPECT_EQ(Take(), Trace{"shared claims disk"}) << "only who asked for it is told";
  gateway_.Close(absl::UnavailableError(""));
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(interests(), (Trace{"+disk", "+disk"}));
  context().DropInterest("claims", "ns", "disk");
  time_.RunDueTasks();
  EXPECT_EQ(interests(), (Trace{"+disk", "+disk", "-disk"}));
}

TEST_F(ReplicaTest, AnObjectAfterItsInterestIsNeitherReportedNorKept) {
  SendReadySlot();
  context().AddInterest("claims", "ns", "disk");
  time_.RunDueTasks();
  context().DropInterest("claims", "ns", "disk");
  time_.RunDueTasks();
  Take();
  gateway_.Send({Claim("disk")});
  EXPECT_EQ(Take(), Trace{}) << "it was on its way";
  context().AddInterest("claims", "ns", "disk");
  time_.RunDueTasks();
  gateway_.Send({Claim("disk")});
  EXPECT_EQ(Take(), Trace{"shared claims disk"}) << "new to whoever asks next";
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
  time_.RunDueTasks();
  EXPECT_EQ(why("gateway"), "ready");
  EXPECT_EQ(why("slots"), "0 of 1024 slots have their snapshot");
  std::vector<gateway::v1::Item> items;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    items.emplace_back().mutable_begin()->set_slot(slot);
    items.emplace_back().mutable_end()->set_slot(slot);
  }
  gateway_.Send(std::move(items));
  time_.RunDueTasks();
  EXPECT_EQ(why("slots"), "ready");
}

}  // namespace
}  // namespace basalt::runtime
