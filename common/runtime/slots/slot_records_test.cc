#include "common/runtime/slots/slot_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include <fmt/format.h>

#include "common/base/slots.h"

namespace basalt::runtime {
namespace {

using replica::v1::ExportRecordsRequest;
using replica::v1::ExportRecordsResponse;
using ::testing::ElementsAre;

std::string Key(uint32_t slot, const std::string& text) {
  std::string key;
  kv::PutSlot(key, slot);
  kv::PutText(key, text);
  return key;
}

class SlotRecordsTest : public ::testing::Test {
 protected:
  SlotRecordsTest() {
    kv::WriteBatch batch;
    for (const uint32_t slot : {3u, 4u, 5u, 200u}) {
      for (int i = 0; i < 10; ++i) {
        for (const kv::Family family :
             {kv::Family::kRecords, kv::Family::kPods, kv::Family::kAux, kv::Family::kHistory}) {
          batch.Put(family, Key(slot, fmt::format("key-{}", i)), fmt::format("value {} of slot {}", i, slot));
        }
      }
      PutSlotEpoch(slot, 7, batch);
    }
    EXPECT_TRUE(store_->Write(batch).ok());
  }
  // Returns all pages, each requested with the cursor of the one before.
  std::vector<ExportRecordsResponse> Pages(
      ExportRecordsRequest request, size_t bytes,
      absl::FunctionRef<bool(uint32_t)> is_free = [](uint32_t) { return true; }) {
    std::vector<ExportRecordsResponse> pages;
    do {
      absl::StatusOr<ExportRecordsResponse> page = ReadPage(*store_, request, is_free, bytes);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) return pages;
      // Each page passes through the wire format: keys are no text.
      ExportRecordsResponse received;
      EXPECT_TRUE(received.ParseFromString(page->SerializeAsString()));
      request.set_cursor(received.next_cursor());
      pages.push_back(*std::move(page));
    } while (!request.cursor().empty() && pages.size() < 1000);
    return pages;
  }
  ExportRecordsRequest Ask(ExportRecordsRequest::Part part, std::vector<std::pair<uint32_t, int64_t>> slots) {
    ExportRecordsRequest request;
    request.set_part(part);
    for (const auto& [slot, epoch] : slots) {
      auto& asked = *request.add_slots();
      asked.set_slot(slot);
      asked.set_epoch(epoch);
    }
    return request;
  }

  std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
};

TEST_F(SlotRecordsTest, EveryRecordComesOnceWhateverTheSizeOfAPage) {
  for (const size_t bytes : {1, 50, 100, 333, 1 << 20}) {
    const auto pages = Pages(Ask(ExportRecordsRequest::PART_CONTROL, {{3, 7}, {200, 7}}), bytes);
    std::multiset<std::pair<uint32_t, std::string>> received;
    std::vector<uint32_t> complete;
    for (const ExportRecordsResponse& page : pages) {
      for (const auto& record : page.records()) {
        received.emplace(record.family(), record.key());
        const uint32_t slot = *SlotOfRecord(record);
        EXPECT_THAT(complete, ::testing::Not(::testing::Contains(slot))) << "nothing follows what is complete";
      }
      for (const uint32_t slot : page.complete()) complete.push_back(slot);
    }
    EXPECT_EQ(received.size(), 60u) << bytes;
    EXPECT_EQ(std::set(received.begin(), received.end()).size(), 60u) << bytes;
    EXPECT_THAT(complete, ElementsAre(3, 200)) << bytes;
    EXPECT_EQ(pages.size() == 1, bytes == 1 << 20);
  }
}

TEST_F(SlotRecordsTest, HistoryIsAPartOfItsOwn) {
  const auto pages = Pages(Ask(ExportRecordsRequest::PART_HISTORY, {{4, 7}}), 1 << 20);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0].records_size(), 10);
  for (const auto& record : pages[0].records()) {
    EXPECT_EQ(record.family(), static_cast<uint32_t>(kv::Family::kHistory));
  }
}

TEST_F(SlotRecordsTest, RecordsOfAnotherEpochAreRefused) {
  const auto pages = Pages(Ask(ExportRecordsRequest::PART_CONTROL, {{3, 6}, {4, 7}, {9, 7}}), 1 << 20);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_THAT(pages[0].refused(), ElementsAre(3, 9));
  EXPECT_THAT(pages[0].complete(), ElementsAre(4));
}

TEST_F(SlotRecordsTest, ASlotThatIsNotFreeComesLaterAndHoldsBackNoOther) {
  const auto pages = Pages(Ask(ExportRecordsRequest::PART_CONTROL, {{3, 7}, {4, 7}, {5, 7}}), 50,
                           [](uint32_t slot) { return slot != 4; });
  int records = 0;
  for (const ExportRecordsResponse& page : pages) {
    for (const auto& record : page.records()) EXPECT_NE(*SlotOfRecord(record), 4u);
    records += page.records_size();
  }
  EXPECT_EQ(records, 60);
  EXPECT_THAT(pages.back().complete(), ElementsAre(5));
}

TEST_F(SlotRecordsTest, ASlotThatGoesInTheMidstOfItTakesNothingFromTheNext) {
  ExportRecordsRequest request = Ask(ExportRecordsRequest::PART_CONTROL, {{3, 7}, {4, 7}});
  absl::StatusOr<ExportRecordsResponse> page = ReadPage(
      *store_, request, [](uint32_t) { return true; }, 300);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->complete_size(), 0);
  request.set_cursor(page->next_cursor());
  kv::WriteBatch batch;
  EXPECT_TRUE(DropSlotRecords(3, *ReadSlotMeta(*store_, 3), 7, batch));
  ASSERT_TRUE(store_->Write(batch).ok());
  page = ReadPage(*store_, request);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->refused(), ElementsAre(3));
  EXPECT_THAT(page->complete(), ElementsAre(4));
  EXPECT_EQ(page->records_size(), 30);
}

TEST_F(SlotRecordsTest, ACursorThatIsNoneIsRefused) {
  ExportRecordsRequest request = Ask(ExportRecordsRequest::PART_CONTROL, {{3, 7}});
  for (const char* cursor : {"x", "1", "1 ", "1 x", "1 2"}) {
    request.set_cursor(cursor);
    EXPECT_EQ(ReadPage(*store_, request).status().code(), absl::StatusCode::kInvalidArgument) << cursor;
  }
}

TEST_F(SlotRecordsTest, ARecordGoesOnlyWhereItWasAskedFor) {
  replica::v1::SlotRecord record;
  record.set_family(static_cast<uint32_t>(kv::Family::kPods));
  record.set_key(Key(3, "x"));
  kv::WriteBatch batch;
  EXPECT_TRUE(PutRecord(record, ExportRecordsRequest::PART_CONTROL, 3, batch).ok());
  EXPECT_EQ(batch.size(), 1u);
  EXPECT_FALSE(PutRecord(record, ExportRecordsRequest::PART_CONTROL, 4, batch).ok()) << "another slot";
  EXPECT_FALSE(PutRecord(record, ExportRecordsRequest::PART_HISTORY, 3, batch).ok()) << "another part";
  record.set_family(static_cast<uint32_t>(kv::Family::kMeta));
  EXPECT_FALSE(PutRecord(record, ExportRecordsRequest::PART_CONTROL, 3, batch).ok()) << "the store's own";
  record.set_family(77);
  EXPECT_FALSE(PutRecord(record, ExportRecordsRequest::PART_CONTROL, 3, batch).ok());
  record.set_key("");
  EXPECT_FALSE(PutRecord(record, ExportRecordsRequest::PART_CONTROL, 3, batch).ok());
  EXPECT_EQ(batch.size(), 1u);
}

TEST_F(SlotRecordsTest, DroppingASlotLeavesTheOthersAlone) {
  kv::WriteBatch batch;
  DropControlRecords(3, batch);
  EXPECT_TRUE(DropSlotRecords(4, *ReadSlotMeta(*store_, 4), 7, batch));
  EXPECT_FALSE(DropSlotRecords(5, *ReadSlotMeta(*store_, 5), 6, batch)) << "of another ownership";
  ASSERT_TRUE(store_->Write(batch).ok());
  std::map<std::pair<kv::Family, uint32_t>, int> left;
  for (const kv::Family family : {kv::Family::kRecords, kv::Family::kPods, kv::Family::kAux, kv::Family::kHistory}) {
    EXPECT_TRUE(store_
                    ->Scan(family, "", "",
                           [&](std::string_view key, std::string_view) {
                             uint32_t slot = 0;
                             EXPECT_TRUE(kv::TakeSlot(key, slot));
                             ++left[{family, slot}];
                             return true;
                           })
                    .ok());
  }
  EXPECT_EQ(left, (std::map<std::pair<kv::Family, uint32_t>, int>{{{kv::Family::kHistory, 3}, 10},
                                                                  {{kv::Family::kRecords, 5}, 10},
                                                                  {{kv::Family::kPods, 5}, 10},
                                                                  {{kv::Family::kAux, 5}, 10},
                                                                  {{kv::Family::kHistory, 5}, 10},
                                                                  {{kv::Family::kRecords, 200}, 10},
                                                                  {{kv::Family::kPods, 200}, 10},
                                                                  {{kv::Family::kAux, 200}, 10},
                                                                  {{kv::Family::kHistory, 200}, 10}}));
  const auto metas = ReadSlotMetas(*store_);
  ASSERT_TRUE(metas.ok());
  std::map<uint32_t, int64_t> epochs;
  for (const auto& [slot, meta] : *metas) epochs[slot] = meta.epoch();
  EXPECT_EQ(epochs, (std::map<uint32_t, int64_t>{{3, 7}, {5, 7}, {200, 7}}));
}

TEST_F(SlotRecordsTest, WhereNewerRecordsAreOnTheirWayOlderHistoryIsToldAndDroppedAlone) {
  kv::WriteBatch batch;
  LeaveOnlyHistory(3, *ReadSlotMeta(*store_, 3), batch);
  ASSERT_TRUE(store_->Write(batch).ok());
  batch = {};
  LeaveOnlyHistory(3, *ReadSlotMeta(*store_, 3), batch);
  batch.Put(kv::Family::kRecords, Key(3, "new"), "on its way");
  ASSERT_TRUE(store_->Write(batch).ok());
  const storage::v1::SlotMeta meta = *ReadSlotMeta(*store_, 3);
  EXPECT_EQ(meta.epoch(), 0);
  EXPECT_EQ(meta.history_epoch(), 7) << "also after a second attempt";
  EXPECT_THAT(ReadPage(*store_, Ask(ExportRecordsRequest::PART_CONTROL, {{3, 7}}))->refused(), ElementsAre(3));
  const absl::StatusOr<ExportRecordsResponse> history =
      ReadPage(*store_, Ask(ExportRecordsRequest::PART_HISTORY, {{3, 7}}));
  EXPECT_THAT(history->complete(), ElementsAre(3));
  EXPECT_EQ(history->records_size(), 10);
  batch = {};
  EXPECT_TRUE(DropSlotRecords(3, meta, 7, batch));
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_THAT(ReadPage(*store_, Ask(ExportRecordsRequest::PART_HISTORY, {{3, 7}}))->refused(), ElementsAre(3));
  EXPECT_TRUE(store_->Get(kv::Family::kRecords, Key(3, "new"))->has_value());
}

TEST_F(SlotRecordsTest, AnEpochThatCannotBeReadIsDamage) {
  std::string key = "slot";
  kv::PutSlot(key, 3);
  kv::WriteBatch batch;
  batch.Put(kv::Family::kMeta, key, "\xff");
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_EQ(ReadSlotMeta(*store_, 3).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadSlotMetas(*store_).status().code(), absl::StatusCode::kDataLoss);
  kv::Damage damage;
  const auto metas = ReadSlotMetas(*store_, &damage);
  ASSERT_TRUE(metas.ok());
  EXPECT_EQ(metas->size(), 3u) << "the others are read";
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_EQ(damage[0].key, key);
  EXPECT_EQ(damage[0].owner, "slot 3");
}

}  // namespace
}  // namespace basalt::runtime
