#include "common/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/history/history_fixture.h"

namespace basalt::history {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class HistoryTest : public HistoryFixture {
 protected:
  void Put(std::string_view uid, const std::vector<EntryNumber>& numbers) {
    kv::WriteBatch batch;
    for (const EntryNumber& number : numbers) JobHistories::Put(kSlot, uid, MakeEntry(number), batch);
    Write(batch);
  }
  // Adds an entry as a pass does.
  void PutAndTrim(const JobHistories& histories, std::string_view uid, EntryNumber number, EntryCount& count) {
    kv::WriteBatch batch;
    kv::Damage damage;
    JobHistories::Put(kSlot, uid, MakeEntry(number), batch);
    ASSERT_THAT(histories.Trim(kSlot, uid, count, batch, damage), IsOk());
    EXPECT_TRUE(damage.empty());
    Write(batch);
  }
  // Returns "UID first-gone;" of each object.
  std::string Objects(std::string_view object_key) const {
    const auto objects = JobHistories(*store_).ObjectsOf(kSlot, object_key);
    EXPECT_THAT(objects, IsOk());
    std::string text;
    for (const storage::v1::HistoryIndexRecord& object : *objects) {
      text += fmt::format("{} {}-{};", object.uid(), object.first_ms(), object.gone_ms());
    }
    return text;
  }
};

// This version has to find the records that other versions have written.
TEST_P(HistoryTest, TheBytesInTheStoreStay) {
  kv::WriteBatch batch;
  JobHistories::Put(0x0102, "u1", MakeEntry({3}, 4), batch);
  JobHistories::Put(0x0102, "u1", MakeEntry({3, 7}, 4), batch);
  JobHistories::Begin(0x0102, "n/a", "u1", 5, batch);
  Write(batch);
  const std::string decision("\1\2u1\0\0\0\0\0\0\0\0\3", 13);
  const std::string edit = decision + std::string("\0\0\0\0\0\0\0\7", 8);
  EXPECT_THAT(AllOf(kv::Family::kHistory),
              ElementsAre(Pair(decision, "\x08\x03\x10\x04"), Pair(edit, "\x08\x03\x10\x04\x88\x01\x07")));
  const std::string index = std::string("\1\2n/a\0\0\0\0\0\0\0\0\5", 14) + std::string("u1\0", 3);
  EXPECT_THAT(AllOf(kv::Family::kHistoryIndex), ElementsAre(Pair(index, "\x0a\x02u1\x10\x05")));
}

TEST_P(HistoryTest, EntriesOfAnObjectAreReadOldestFirst) {
  Put("u", {{256}, {2}, {1}, {1, 5}});
  Put("uu", {{7}});
  const JobHistories histories(*store_);
  const auto entries = histories.Read(kSlot, "u");
  ASSERT_THAT(entries, IsOk());
  EXPECT_EQ(TextOf(*entries), "1 1/5 2 256");
  EXPECT_TRUE(histories.Read(kSlot, "none")->empty());
  EXPECT_TRUE(histories.Read(kSlot + 1, "u")->empty()) << "another slot";
}

TEST_P(HistoryTest, OneEntryIsFoundByItsNumberAndReplaced) {
  Put("u", {{1}, {1, 5}});
  kv::WriteBatch batch;
  JobHistories::Put(kSlot, "u", MakeEntry({1}, 1, "anew"), batch);
  Write(batch);
  const JobHistories histories(*store_);
  EXPECT_EQ((*histories.ReadOne(kSlot, "u", {1}))->outcome(), "anew");
  EXPECT_EQ((*histories.ReadOne(kSlot, "u", {1, 5}))->generation(), 5);
  EXPECT_FALSE(histories.ReadOne(kSlot, "u", {2})->has_value());
  EXPECT_EQ(TextOf(*histories.Read(kSlot, "u")), "1 1/5");
}

TEST_P(HistoryTest, AnEntryThatCannotBeReadIsLeftOutOrAnError) {
  struct Row {
    std::string uid;
    std::string key;
    std::string value;
  };
  const std::vector<Row> rows = {
      {"no-message", EntryKey(kSlot, "no-message", {1}), "\xff"},
      {"another-number", EntryKey(kSlot, "another-number", {1}), MakeEntry({2}).SerializeAsString()},
      {"an-edit", EntryKey(kSlot, "an-edit", {1}), MakeEntry({1, 5}).SerializeAsString()},
      {"no-number", EntryPrefix(kSlot, "no-number") + "x", MakeEntry({1}).SerializeAsString()},
      {"half-a-generation", EntryKey(kSlot, "half-a-generation", {1}) + "x", MakeEntry({1}).SerializeAsString()},
  };
  const JobHistories histories(*store_);
  for (const Row& row : rows) {
    Put(row.uid, {{9}});
    PutBytes(kv::Family::kHistory, row.key, row.value);
    EXPECT_THAT(histories.Read(kSlot, row.uid),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the history record of " + row.uid)));
    kv::Damage damage;
    const auto entries = histories.Read(kSlot, row.uid, &damage);
    ASSERT_THAT(entries, IsOk()) << row.uid;
    EXPECT_EQ(TextOf(*entries), "9") << row.uid;
    ASSERT_EQ(damage.size(), 1u) << row.uid;
    EXPECT_EQ(damage[0].kind, "history") << row.uid;
    EXPECT_EQ(damage[0].family, kv::Family::kHistory) << row.uid;
    EXPECT_EQ(damage[0].key, row.key);
    EXPECT_EQ(damage[0].owner, row.uid);
  }
  EXPECT_THAT(histories.ReadOne(kSlot, "no-message", {1}), StatusIs(absl::StatusCode::kDataLoss));
  kv::Damage damage;
  EXPECT_FALSE(histories.ReadOne(kSlot, "no-message", {1}, &damage)->has_value());
  EXPECT_EQ(damage.size(), 1u);
}

TEST_P(HistoryTest, BeyondTheLimitTheOldestGo) {
  struct Row {
    size_t limit;
    int64_t decisions;
    int64_t first;  // The first one that is left.
  };
  // A long history loses a sixteenth more than it has to lose.
  for (const Row& row : {Row{10, 10, 1}, Row{10, 11, 2}, Row{10, 25, 16}, Row{32, 32, 1}, Row{32, 33, 4},
                         Row{32, 35, 4}, Row{32, 36, 7}}) {
    const std::string name = fmt::format("{} of {}", row.decisions, row.limit);
    const JobHistories histories(*store_, {.entries = row.limit});
    EntryCount count;
    for (int64_t i = 1; i <= row.decisions; ++i) PutAndTrim(histories, name, {i}, count);
    const auto left = histories.Read(kSlot, name);
    ASSERT_THAT(left, IsOk()) << name;
    ASSERT_FALSE(left->empty()) << name;
    EXPECT_EQ(left->front().sequence(), row.first) << name;
    EXPECT_EQ(left->back().sequence(), row.decisions) << name;
    EXPECT_EQ(static_cast<int64_t>(left->size()), row.decisions - row.first + 1) << name << ": without a gap";
    EXPECT_EQ(count, static_cast<int64_t>(left->size())) << name;
  }
}

TEST_P(HistoryTest, StoredEntriesAreCountedBeforeTheFirstIsPut) {
  std::vector<EntryNumber> before;
  for (int64_t i = 1; i <= 15; ++i) before.push_back({i});
  Put("u", before);
  const JobHistories histories(*store_, {.entries = 10});
  EntryCount count;
  PutAndTrim(histories, "u", {16}, count);
  EXPECT_EQ(TextOf(*histories.Read(kSlot, "u")), "7 8 9 10 11 12 13 14 15 16");
  EXPECT_EQ(count, 10);
}

TEST_P(HistoryTest, EditsDoNotPushOutDecisions) {
  Put("u", {{1}, {1, 1}, {1, 2}, {1, 3}});
  const JobHistories histories(*store_, {.entries = 4});
  EntryCount count;
  PutAndTrim(histories, "u", {2}, count);
  EXPECT_EQ(TextOf(*histories.Read(kSlot, "u")), "1 1/2 1/3 2");
}

TEST_P(HistoryTest, AnUnreadableEntryIsNotCounted) {
  Put("u", {{1}, {2}});
  PutBytes(kv::Family::kHistory, EntryKey(kSlot, "u", {3}), "\xff");
  const JobHistories histories(*store_, {.entries = 3});
  kv::WriteBatch batch;
  kv::Damage damage;
  EntryCount count;
  ASSERT_THAT(histories.Trim(kSlot, "u", count, batch, damage), IsOk());
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(damage.size(), 1u);
}

TEST_P(HistoryTest, ObjectsAreFoundByTheKeyThatTheyHad) {
  kv::WriteBatch batch;
  JobHistories::Begin(kSlot, "n/a", "second", 300, batch);
  JobHistories::Begin(kSlot, "n/a", "first", 5, batch);
  JobHistories::Begin(kSlot, "n/ab", "other", 7, batch);
  Write(batch);
  EXPECT_EQ(Objects("n/a"), "first 5-0;second 300-0;");
  const JobHistories histories(*store_);
  for (const int64_t gone_ms : {8, 20}) {
    batch.Clear();
    ASSERT_THAT(histories.End(kSlot, "n/a", "first", gone_ms, batch), IsOk());
    Write(batch);
    EXPECT_EQ(Objects("n/a"), "first 5-8;second 300-0;") << "the first time counts";
  }
  EXPECT_EQ(Objects("n/ab"), "other 7-0;");
  EXPECT_EQ(Objects("n"), "");
}

TEST_P(HistoryTest, AnIndexThatCannotBeReadFollowsFromItsKey) {
  kv::WriteBatch batch;
  JobHistories::Begin(kSlot, "n/a", "u", 5, batch);
  Write(batch);
  PutBytes(kv::Family::kHistoryIndex, AllOf(kv::Family::kHistoryIndex).front().first, "\xff");
  EXPECT_EQ(Objects("n/a"), "u 5-0;");
  batch.Clear();
  ASSERT_THAT(JobHistories(*store_).End(kSlot, "n/a", "u", 8, batch), IsOk());
  Write(batch);
  EXPECT_EQ(Objects("n/a"), "u 5-8;");
}

INSTANTIATE_TEST_SUITE_P(Stores, HistoryTest, ::testing::Bool(), MediumOf);

}  // namespace
}  // namespace basalt::history
