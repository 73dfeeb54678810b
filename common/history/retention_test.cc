#include "common/history/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/history/history_fixture.h"

namespace basalt::history {
namespace {

using ::basalt::testing::IsOk;

constexpr int64_t kMinute = 60'000;
constexpr int64_t kNow = 6'000 * kMinute;

class RetentionTest : public HistoryFixture {
 protected:
  // Puts a job with one decision. `gone_ms` is 0 if the end of the job was not observed.
  void PutJob(uint32_t slot, const std::string& uid, int64_t decided_ms, int64_t gone_ms, size_t bytes = 0) {
    kv::WriteBatch batch;
    JobHistories::Begin(slot, "n/" + uid, uid, 1, batch);
    JobHistories::Put(slot, uid, MakeEntry({1}, decided_ms, std::string(bytes, 'x')), batch);
    Write(batch);
    if (gone_ms == 0) return;
    batch.Clear();
    ASSERT_THAT(JobHistories(*store_).End(slot, "n/" + uid, uid, gone_ms, batch), IsOk());
    Write(batch);
  }
  // Puts four jobs that are gone, each of about a thousand bytes. Job 1 ended first.
  void PutFour(uint32_t slot) {
    for (int64_t i = 4; i >= 1; --i) PutJob(slot, std::to_string(i), kNow, kNow - 10 + i, 1'000);
  }
  // Does a turn, and returns the damage that it found.
  kv::Damage Turn(JobHistories& histories, uint32_t slot, const std::set<std::string>& present = {}) {
    kv::WriteBatch batch;
    kv::Damage damage;
    EXPECT_THAT(histories.retention().Trim(slot, present, absl::FromUnixMillis(kNow), batch, damage), IsOk());
    Write(batch);
    return damage;
  }
  bool IsKept(uint32_t slot, const std::string& uid) const {
    const JobHistories histories(*store_);
    const bool is_indexed = !histories.ObjectsOf(slot, "n/" + uid)->empty();
    EXPECT_EQ(!histories.Read(slot, uid)->empty(), is_indexed) << uid;
    return is_indexed;
  }
  // Returns the UIDs, among those that PutFour puts, whose history still exists.
  std::string Kept(uint32_t slot) const {
    std::string kept;
    for (const char* uid : {"1", "2", "3", "4"}) kept += IsKept(slot, uid) ? uid : "";
    return kept;
  }
};

TEST_P(RetentionTest, AHistoryGoneForLongIsDropped) {
  struct Row {
    std::string uid;
    int64_t decided_ms;
    int64_t gone_ms;
    bool is_kept;
  };
  const std::vector<Row> rows = {
      {"gone-lately", kMinute, kNow - 59 * kMinute, true},
      {"gone-at-the-limit", kMinute, kNow - 60 * kMinute, true},
      {"gone-for-long", kNow - 62 * kMinute, kNow - 61 * kMinute, false},
      {"decided-lately-and-not-seen-to-go", kNow - 59 * kMinute, 0, true},
      {"decided-long-ago-and-not-seen-to-go", kNow - 61 * kMinute, 0, false},
      {"present", kMinute, 0, true},
  };
  for (const Row& row : rows) PutJob(kSlot, row.uid, row.decided_ms, row.gone_ms);
  PutJob(kSlot + 1, "of-another-slot", kMinute, kMinute);
  JobHistories histories(*store_, {.age = absl::Hours(1)});
  EXPECT_TRUE(Turn(histories, kSlot, {"present"}).empty());
  for (const Row& row : rows) EXPECT_EQ(IsKept(kSlot, row.uid), row.is_kept) << row.uid;
  EXPECT_TRUE(IsKept(kSlot + 1, "of-another-slot"));
}

TEST_P(RetentionTest, AJobOfWhichNobodySawTheEndGoesByItsLastDecision) {
  PutJob(kSlot, "u", kMinute, 0);
  kv::WriteBatch batch;
  JobHistories::Put(kSlot, "u", MakeEntry({2}, kNow - 1), batch);
  Write(batch);
  JobHistories histories(*store_, {.age = absl::Hours(1)});
  Turn(histories, kSlot);
  EXPECT_TRUE(IsKept(kSlot, "u"));
}

TEST_P(RetentionTest, TooManyBytesCostThoseThatEndedFirst) {
  PutFour(kSlot);
  PutJob(kSlot, "present", kMinute, 0, 1'000);
  JobHistories histories(*store_, {.bytes = 2'500});
  for (int turn = 0; turn < 3; ++turn) {
    Turn(histories, kSlot, {"present"});
    EXPECT_EQ(Kept(kSlot), "34") << "no more goes than has to";
    EXPECT_TRUE(IsKept(kSlot, "present"));
  }
}

TEST_P(RetentionTest, SlotsGiveUpTheSamePartOfWhatAllHaveByTheirLastTurns) {
  for (const uint32_t slot : {3u, 4u}) PutFour(slot);
  JobHistories histories(*store_, {.bytes = 5'000});
  Turn(histories, 3);
  EXPECT_EQ(Kept(3), "1234") << "nothing is known of the other one";
  Turn(histories, 4);
  EXPECT_EQ(Kept(4), "34");
  histories.retention().Close(4);
  Turn(histories, 3);
  EXPECT_EQ(Kept(3), "1234") << "the other one is not here any more";
  Turn(histories, 4);
  EXPECT_EQ(Kept(4), "4");
  Turn(histories, 3);
  EXPECT_EQ(Kept(3), "234") << "together they had too much";
}

TEST_P(RetentionTest, AHistoryIsMeasuredOnceItsJobWasSeenToBeGone) {
  PutJob(kSlot, "gone", kNow, kNow, 100);
  const auto entry = AllOf(kv::Family::kHistory).front();
  const auto index = AllOf(kv::Family::kHistoryIndex).front();
  PutJob(kSlot, "unseen", kNow, 0, 100);
  JobHistories histories(*store_);
  Turn(histories, kSlot);
  EXPECT_EQ(histories.ObjectsOf(kSlot, "n/gone")->front().bytes(),
            static_cast<int64_t>(index.first.size() + entry.first.size() + entry.second.size()));
  EXPECT_EQ(histories.ObjectsOf(kSlot, "n/unseen")->front().bytes(), 0) << "it may go on";
}

TEST_P(RetentionTest, AnIndexThatCannotBeReadIsMendedOrDropped) {
  PutJob(kSlot, "u", kNow, 0);
  const std::string index_key = AllOf(kv::Family::kHistoryIndex).front().first;
  std::string no_key;
  kv::PutSlot(no_key, kSlot);
  no_key += "without an end";
  PutBytes(kv::Family::kHistoryIndex, index_key, "\xff");
  PutBytes(kv::Family::kHistoryIndex, no_key, "");
  JobHistories histories(*store_);
  const kv::Damage damage = Turn(histories, kSlot, {"u"});
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].kind, "history_index");
  EXPECT_EQ(damage[0].key, index_key);
  EXPECT_EQ(damage[0].owner, "u");
  EXPECT_EQ(damage[1].key, no_key);
  EXPECT_EQ(damage[1].owner, "");
  const auto left = AllOf(kv::Family::kHistoryIndex);
  ASSERT_EQ(left.size(), 1u);
  storage::v1::HistoryIndexRecord record;
  ASSERT_TRUE(record.ParseFromString(left[0].second));
  EXPECT_EQ(record.uid(), "u");
  EXPECT_EQ(record.first_ms(), 1);
  EXPECT_TRUE(Turn(histories, kSlot, {"u"}).empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, RetentionTest, ::testing::Bool(), MediumOf);

TEST(RetentionTurnsTest, EachSlotHasOneInALap) {
  const auto store = kv::OpenMemKv(kv::MakeMemDisk());
  Retention retention(*store, {}, nullptr);
  std::map<uint32_t, int> slots = {{2, 0}, {5, 0}, {9, 0}};
  for (const uint32_t slot : {2u, 5u, 9u, 2u, 5u}) EXPECT_EQ(retention.NextTurn(slots)->first, slot);
  slots.erase(5);
  EXPECT_EQ(retention.NextTurn(slots)->first, 9u);
  slots.erase(9);
  EXPECT_EQ(retention.NextTurn(slots)->first, 2u);
  EXPECT_EQ(retention.NextTurn(slots)->first, 2u);
  EXPECT_EQ(Retention::TurnInterval(4), absl::Minutes(15));
  EXPECT_EQ(Retention::TurnInterval(0), absl::Hours(1)) << "none is open";
}

}  // namespace
}  // namespace basalt::history
