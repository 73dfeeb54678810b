#include "services/queuesvc/api/queue_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/base/slots.h"
#include "common/kube/timestamp.h"
#include "common/testing/status_matchers.h"

namespace basalt::queuesvc {
namespace {

using basalt::testing::IsOk;
using basalt::testing::StatusIs;

constexpr char kQueue[] = "research";

class QueueHistoryTest : public ::testing::Test {
 protected:
  void Begin(const std::string& uid, int64_t first_ms) {
    kv::WriteBatch batch;
    QueueHistories::Begin(SlotOf(kQueue), kQueue, uid, first_ms, batch);
    ASSERT_THAT(store_->Write(batch), IsOk());
  }
  void Put(const std::string& uid, const storage::v1::QueueHistoryRecord& entry) {
    kv::WriteBatch batch;
    QueueHistories::Put(SlotOf(kQueue), uid, entry, batch);
    ASSERT_THAT(store_->Write(batch), IsOk());
  }
  absl::StatusOr<queue::v1::QueueHistory> Ask(const std::string& uid = "") {
    queue::v1::GetQueueHistoryRequest request;
    request.set_name(kQueue);
    request.set_uid(uid);
    return HistoryOf(records_, present_.uid().empty() ? nullptr : &present_, request);
  }
  static storage::v1::QueueHistoryRecord Entry(int64_t sequence) {
    storage::v1::QueueHistoryRecord entry;
    entry.set_sequence(sequence);
    entry.set_time_ms(sequence);
    entry.set_kind(storage::v1::QueueHistoryRecord::KIND_STATE_CHANGED);
    return entry;
  }

  const std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  QueueRecords records_{*store_, nullptr, {}};
  storage::v1::QueueRecord present_;
};

TEST_F(QueueHistoryTest, NoneOfThatNameOrUidIsNotFound) {
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kNotFound));
  Begin("u", 1);
  EXPECT_THAT(Ask(), IsOk());
  EXPECT_THAT(Ask("v"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QueueHistoryTest, TheNewestOfTheNameIsMeantUnlessAUidIsGiven) {
  Begin("old", 1);
  Begin("new", 2);
  EXPECT_EQ(Ask()->uid(), "new");
  EXPECT_EQ(Ask("old")->uid(), "old");
}

TEST_F(QueueHistoryTest, ADecisionNotSeenYetStandsInItsPlaceUncommitted) {
  Begin("u", 1);
  Put("u", Entry(10));
  Put("u", Entry(30));
  present_.set_uid("u");
  *present_.mutable_pending() = Entry(20);
  present_.mutable_counts()->set_running(2);
  present_.set_counts_ms(40);
  const auto history = Ask();
  ASSERT_THAT(history, IsOk());
  ASSERT_EQ(history->entries_size(), 3);
  EXPECT_EQ(history->entries(1).sequence(), 20);
  EXPECT_FALSE(history->entries(1).committed());
  EXPECT_EQ(history->counts().running(), 2);
  EXPECT_EQ(kube::ToMs(history->counts_time()), 40);
  present_.set_uid("another");
  EXPECT_EQ(Ask("u")->entries_size(), 2) << "that is another queue's";
}

// The index travels behind the record when the slot moves.
TEST_F(QueueHistoryTest, APresentQueueIsShownBeforeItsIndexIs) {
  Begin("old", 1);
  present_.set_uid("u");
  Put("u", Entry(10));
  const auto history = Ask();
  ASSERT_THAT(history, IsOk());
  EXPECT_EQ(history->uid(), "u");
  EXPECT_FALSE(history->has_gone_time());
  EXPECT_EQ(history->entries_size(), 1);
  EXPECT_EQ(Ask("old")->uid(), "old");
  EXPECT_THAT(Ask("v"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QueueHistoryTest, AnEntryIsToldWithAllThatItHas) {
  storage::v1::QueueHistoryRecord record = Entry(1500);
  record.set_kind(storage::v1::QueueHistoryRecord::KIND_REFUSED);
  record.set_from_state("Closing");
  record.set_to_state("Closed");
  record.set_cause("its last pod group is gone");
  record.set_committed(true);
  record.mutable_counts()->set_completed(1);
  record.mutable_refusal()->set_code(403);
  record.mutable_refusal()->set_reason("Forbidden");
  record.mutable_refusal()->set_message("not you");
  record.set_end_ms(2500);
  const queue::v1::QueueHistoryEntry entry = ToMessage(record);
  EXPECT_EQ(entry.sequence(), 1500);
  EXPECT_EQ(kube::ToMs(entry.time()), 1500);
  EXPECT_EQ(entry.kind(), queue::v1::QueueHistoryEntry::KIND_REFUSED);
  EXPECT_EQ(entry.from_state(), "Closing");
  EXPECT_EQ(entry.to_state(), "Closed");
  EXPECT_EQ(entry.cause(), "its last pod group is gone");
  EXPECT_TRUE(entry.committed());
  EXPECT_EQ(entry.counts().completed(), 1);
  EXPECT_EQ(entry.refusal().code(), 403);
  EXPECT_EQ(entry.refusal().reason(), "Forbidden");
  EXPECT_EQ(entry.refusal().message(), "not you");
  EXPECT_EQ(kube::ToMs(entry.end_time()), 2500);
  EXPECT_FALSE(ToMessage(Entry(1)).has_end_time());
  EXPECT_FALSE(ToMessage(Entry(1)).has_refusal());
}

}  // namespace
}  // namespace basalt::queuesvc
