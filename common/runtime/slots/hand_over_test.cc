// Which callers get the records of this process and which are refused, and the end of a fetch that is given up.
// tests/slots has the passage between two processes.
#include "common/runtime/slots/hand_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/rpc/held_slots.h"
#include "common/runtime/slots/slot_records.h"
#include "common/testing/status_matchers.h"

namespace basalt::runtime {
namespace {

using replica::v1::ExportRecordsRequest;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct NoPeers final : rpc::PeerDirectory {
  std::shared_ptr<rpc::ServicePeer> Services(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return nullptr; }
};

gateway::v1::Member Self() {
  gateway::v1::Member self;
  self.set_service(gateway::v1::SERVICE_KIND_JOB);
  self.set_replica("jobsvc-0");
  self.set_incarnation("now");
  return self;
}

class SlotPassageTest : public ::testing::Test {
 protected:
  SimTime time_;
  SimLoop loop_{time_, "replica"};
  SeededRandom random_{1};
  std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  HandOverOptions options_{.cluster = "blue", .self = Self()};
};

class HandoverTest : public SlotPassageTest {
 protected:
  static ExportRecordsRequest Ask() {
    ExportRecordsRequest request;
    request.set_cluster("blue");
    *request.mutable_source() = Self();
    request.set_part(ExportRecordsRequest::PART_CONTROL);
    return request;
  }

  NoPeers peers_;
  Takeover takeover_{options_, loop_, random_, *store_, peers_, {}};
  Handover handover_{options_, *store_, takeover_};
};

TEST_F(HandoverTest, AnswersWhoMeansThisProcess) { EXPECT_THAT(handover_.Serve(Ask()), testing::IsOk()); }

TEST_F(HandoverTest, NamesBothProcessesAndClustersToWhoMeansAnother) {
  const struct {
    std::function<void(ExportRecordsRequest&)> change;
    const char* theirs;
    const char* ours;
  } rows[] = {
      {[](auto& request) { request.set_cluster("green"); }, "cluster 'green'", "'blue'"},
      {[](auto& request) { request.mutable_source()->set_service(gateway::v1::SERVICE_KIND_QUEUE); },
       "SERVICE_KIND_QUEUE", "SERVICE_KIND_JOB"},
      {[](auto& request) { request.mutable_source()->set_replica("jobsvc-1"); }, "'jobsvc-1' (now)",
       "'jobsvc-0' (now)"},
      {[](auto& request) { request.mutable_source()->set_incarnation("before"); }, "'jobsvc-0' (before)",
       "'jobsvc-0' (now)"},
  };
  for (const auto& row : rows) {
    ExportRecordsRequest request = Ask();
    row.change(request);
    EXPECT_THAT(handover_.Serve(request), testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                                            AllOf(HasSubstr(row.theirs), HasSubstr(row.ours))));
  }
}

TEST_F(HandoverTest, RefusesWhatDoesNotSayWhichPart) {
  ExportRecordsRequest request = Ask();
  request.clear_part();
  EXPECT_THAT(handover_.Serve(request),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ExportRecordsRequest.part")));
}

// A key has two bytes for the slot: those of 65536 + n are those of n.
TEST_F(HandoverTest, RefusesWhatIsNoSlotAndKeepsTheRecordsOfLiveOnes) {
  constexpr uint32_t kLive = 439;
  std::string key;
  kv::PutSlot(key, kLive);
  kv::WriteBatch batch;
  PutSlotEpoch(kLive, 7, batch);
  for (const kv::Family family : {kv::Family::kRecords, kv::Family::kHistory}) batch.Put(family, key, "live");
  ASSERT_TRUE(store_->Write(batch).ok());
  handover_.SetBusy(kLive, 7);
  for (const auto part :
       {ExportRecordsRequest::PART_CONTROL, ExportRecordsRequest::PART_HISTORY, ExportRecordsRequest::PART_DONE}) {
    for (const uint32_t slot : {kSlotCount, 65536 + kLive, 0xffffffff}) {
      ExportRecordsRequest request = Ask();
      request.set_part(part);
      request.add_slots()->set_slot(kLive);
      request.add_slots()->set_slot(slot);
      request.mutable_slots(1)->set_epoch(7);
      EXPECT_THAT(handover_.Serve(request),
                  testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("slots[1].slot"), HasSubstr("slots are 0 to 1023"))))
          << part << " " << slot;
    }
  }
  for (const kv::Family family : {kv::Family::kRecords, kv::Family::kHistory}) {
    EXPECT_TRUE(store_->Get(family, key)->has_value());
  }
}

TEST_F(HandoverTest, RefusesASlotThatIsNamedTwice) {
  ExportRecordsRequest request = Ask();
  for (int i = 0; i < 2; ++i) request.add_slots()->set_slot(7);
  EXPECT_THAT(handover_.Serve(request),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("slots names slot 7 twice")));
}

TEST_F(HandoverTest, DropsRecordsForTheProcessAloneThatTheAssignmentNames) {
  constexpr uint32_t kSlot = 5;
  kv::WriteBatch batch;
  PutSlotEpoch(kSlot, 7, batch);
  ASSERT_TRUE(store_->Write(batch).ok());
  gateway::v1::Member owner = Self();
  owner.set_replica("jobsvc-1");
  gateway::v1::Member restarted = owner, other = owner, queuesvc = owner;
  restarted.set_incarnation("before");
  other.set_replica("jobsvc-2");
  queuesvc.set_service(gateway::v1::SERVICE_KIND_QUEUE);
  const auto serve = [&](const gateway::v1::Member& asks, ExportRecordsRequest::Part part) {
    ExportRecordsRequest request = Ask();
    *request.mutable_owner() = asks;
    request.set_part(part);
    request.add_slots()->set_slot(kSlot);
    request.mutable_slots(0)->set_epoch(7);
    const absl::StatusOr<replica::v1::ExportRecordsResponse> answer = handover_.Serve(request);
    EXPECT_THAT(answer, testing::IsOk());
    return answer->not_yet_size() == 1 ? "not yet" : answer->complete_size() == 1 ? "complete" : "refused";
  };
  EXPECT_STREQ(serve(owner, ExportRecordsRequest::PART_DONE), "not yet") << "no assignment is known";
  handover_.SetOwners({Self()}, std::vector<size_t>(kSlotCount, 0));
  EXPECT_STREQ(serve(Self(), ExportRecordsRequest::PART_DONE), "not yet") << "nobody passes records to themselves";
  handover_.SetOwners({Self(), owner}, std::vector<size_t>(kSlotCount, 1));
  for (const auto part : {ExportRecordsRequest::PART_HISTORY, ExportRecordsRequest::PART_DONE}) {
    for (const gateway::v1::Member& asks : {restarted, other, queuesvc, Self()}) {
      EXPECT_STREQ(serve(asks, part), "not yet") << asks.ShortDebugString();
    }
    EXPECT_EQ(ReadSlotMeta(*store_, kSlot)->epoch(), 7);
    EXPECT_STREQ(serve(owner, part), "complete");
  }
  EXPECT_EQ(ReadSlotMeta(*store_, kSlot)->epoch(), 0);
}

// ---- the new owner's end ----

// Gives its answers one call after the other; then it cannot be reached.
struct ScriptedSource final : rpc::ReplicaPeer {
  void ExportRecords(ExportRecordsRequest request, absl::Duration,
                     rpc::Done<replica::v1::ExportRecordsResponse> done) override {
    requests.push_back(std::move(request));
    if (answers.empty()) return done(absl::UnavailableError("not there"));
    absl::StatusOr<replica::v1::ExportRecordsResponse> answer = std::move(answers.front());
    answers.pop_front();
    done(std::move(answer));
  }
  std::vector<ExportRecordsRequest> requests;
  std::deque<absl::StatusOr<replica::v1::ExportRecordsResponse>> answers;
};

struct OneSource final : rpc::PeerDirectory {
  std::shared_ptr<rpc::ServicePeer> Services(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return source; }
  std::shared_ptr<ScriptedSource> source = std::make_shared<ScriptedSource>();
};

class ImportTest : public SlotPassageTest {
 protected:
  static constexpr uint32_t kSlots[] = {3, 9};

  ImportTest() {
    leftovers_.mutable_source()->set_service(gateway::v1::SERVICE_KIND_JOB);
    leftovers_.mutable_source()->set_replica("jobsvc-1");
    leftovers_.mutable_source()->set_incarnation("theirs");
    for (const uint32_t slot : kSlots)
      rpc::AddHeldSlot(slot, 7, /*only_history=*/false, *leftovers_.mutable_inventory());
  }
  void Import() {
    takeover_.Import(leftovers_, [](uint32_t) { return true; });
    time_.RunDueTasks();
  }
  // Has all records of the first slot, and a cursor for the next page.
  static replica::v1::ExportRecordsResponse FirstPage() {
    replica::v1::ExportRecordsResponse page;
    page.add_complete(kSlots[0]);
    page.set_next_cursor("more");
    return page;
  }
  static std::vector<uint32_t> SlotsOf(const ExportRecordsRequest& request) {
    std::vector<uint32_t> slots;
    for (const auto& asked : request.slots()) slots.push_back(asked.slot());
    return slots;
  }

  OneSource peers_;
  Takeover takeover_{options_, loop_,  random_,
                     *store_,  peers_, {.cleared = [](const gateway::v1::OrphanedRecords&) {}}};
  gateway::v1::OrphanedRecords leftovers_;
};

TEST_F(ImportTest, RecordsUnderWayAreNotRequestedTwice) {
  peers_.source->answers.push_back(FirstPage());
  Import();
  const size_t asked = peers_.source->requests.size();
  Import();
  EXPECT_EQ(peers_.source->requests.size(), asked);
}

TEST_F(ImportTest, AHistoryThatWasGivenUpHalfWayIsFetchedWhenItIsToldOfAgain) {
  const struct {
    const char* why;
    absl::Status then;
    absl::Duration patience;
  } rows[] = {
      {"another process answers", absl::FailedPreconditionError("another"), absl::ZeroDuration()},
      {"nobody answers for long", absl::UnavailableError("away"), 2 * options_.history_patience},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    peers_.source->answers.push_back(FirstPage());
    peers_.source->answers.push_back(row.then);
    Import();
    time_.Advance(row.patience);
    peers_.source->requests.clear();
    peers_.source->answers.push_back(absl::FailedPreconditionError("another"));
    Import();
    ASSERT_EQ(peers_.source->requests.size(), 1u);
    EXPECT_THAT(SlotsOf(peers_.source->requests[0]), ElementsAreArray(kSlots)) << "also what had come whole";
  }
}

}  // namespace
}  // namespace basalt::runtime
