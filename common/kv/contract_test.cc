// Tests the promises of KvStore, by one suite for every store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/kv/faulty_kv.h"
#include "common/kv/kv_store.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::kv {
namespace {

using ::basalt::testing::IsOk;

// Makes a function that opens the same bytes again and again.
struct Medium {
  std::string name;
  std::function<std::function<std::unique_ptr<KvStore>()>()> make;
};

std::function<std::unique_ptr<KvStore>()> OverMemory() {
  return [disk = MakeMemDisk()] { return OpenMemKv(disk); };
}

std::function<std::unique_ptr<KvStore>()> OverFaults() {
  return [disk = MakeMemDisk()] { return std::make_unique<FaultyKv>(OpenMemKv(disk)); };
}

std::function<std::unique_ptr<KvStore>()> OverRocks(bool sync) {
  return [folder = std::make_shared<basalt::testing::TempDir>(), sync]() -> std::unique_ptr<KvStore> {
    OpenOptions options;
    options.data_dir = *folder / "data";
    options.service = "jobsvc";
    options.replica = "jobsvc-0";
    options.sync = sync;
    absl::StatusOr<std::unique_ptr<KvStore>> store = OpenRocksKv(options);
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  };
}

class KvContractTest : public ::testing::TestWithParam<Medium> {
 protected:
  KvContractTest() : open_(GetParam().make()), store_(open_()) {}

  void Reopen() {
    store_.reset();
    store_ = open_();
  }
  std::string Read(Family family, std::string_view key) {
    const auto value = store_->Get(family, key);
    EXPECT_THAT(value, IsOk());
    return value.ok() && value->has_value() ? **value : "(absent)";
  }
  std::string Keys(Family family, std::string_view begin, std::string_view end, size_t limit = 1000) {
    std::string keys;
    EXPECT_THAT(store_->Scan(family, begin, end,
                             [&](std::string_view key, std::string_view value) {
                               keys += std::string(key) + "=" + std::string(value) + " ";
                               return --limit > 0;
                             }),
                IsOk());
    return keys;
  }

  std::function<std::unique_ptr<KvStore>()> open_;
  std::unique_ptr<KvStore> store_;
};

TEST_P(KvContractTest, AWrittenBatchIsReadBackAlsoAfterAReopen) {
  WriteBatch batch;
  batch.Put(Family::kRecords, "a", "1");
  batch.Put(Family::kPods, "a", "2");
  ASSERT_THAT(store_->Write(batch), IsOk());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Read(Family::kRecords, "a"), "1");
    EXPECT_EQ(Read(Family::kPods, "a"), "2");
    EXPECT_EQ(Read(Family::kAux, "a"), "(absent)");
    Reopen();
  }
}

TEST_P(KvContractTest, OperationsOfABatchApplyInOrder) {
  WriteBatch batch;
  batch.Put(Family::kRecords, "a", "1");
  batch.Put(Family::kRecords, "b", "1");
  batch.Delete(Family::kRecords, "a");
  batch.Put(Family::kRecords, "c", "1");
  batch.DeleteRange(Family::kRecords, "b", "d");
  batch.Put(Family::kRecords, "c", "2");
  ASSERT_THAT(store_->Write(batch), IsOk());
  EXPECT_EQ(Keys(Family::kRecords, "", ""), "c=2 ");
}

TEST_P(KvContractTest, AScanSeesTheRangeInOrderAndStopsWhenTold) {
  WriteBatch batch;
  for (const char* key : {"b", "a", "c", "d"}) batch.Put(Family::kHistory, key, "v");
  ASSERT_THAT(store_->Write(batch), IsOk());
  EXPECT_EQ(Keys(Family::kHistory, "b", "d"), "b=v c=v ");
  EXPECT_EQ(Keys(Family::kHistory, "b", ""), "b=v c=v d=v ");
  EXPECT_EQ(Keys(Family::kHistory, "", "", 2), "a=v b=v ");
  EXPECT_EQ(Keys(Family::kHistory, "d", "b"), "");
  EXPECT_EQ(Keys(Family::kAux, "", ""), "");
}

TEST_P(KvContractTest, AScanIsNotTouchedByWhatItsVisitorWrites) {
  WriteBatch batch;
  for (const char* key : {"a", "b", "c"}) batch.Put(Family::kPods, key, "v");
  ASSERT_THAT(store_->Write(batch), IsOk());
  std::string seen;
  ASSERT_THAT(store_->Scan(Family::kPods, "", "",
                           [&](std::string_view key, std::string_view) {
                             seen += key;
                             WriteBatch more;
                             more.Delete(Family::kPods, "c");
                             more.Put(Family::kPods, "d", "v");
                             EXPECT_THAT(store_->Write(more), IsOk());
                             return true;
                           }),
              IsOk());
  EXPECT_EQ(seen, "abc");
  EXPECT_EQ(Keys(Family::kPods, "", ""), "a=v b=v d=v ");
}

TEST_P(KvContractTest, ARangeDeleteLeavesItsEndAndAnEmptyRangeDeletesNothing) {
  WriteBatch batch;
  for (const char* key : {"a", "b", "c"}) batch.Put(Family::kAux, key, "v");
  batch.DeleteRange(Family::kAux, "a", "c");
  batch.DeleteRange(Family::kAux, "c", "c");
  batch.DeleteRange(Family::kAux, "d", "a");
  ASSERT_THAT(store_->Write(batch), IsOk());
  EXPECT_EQ(Keys(Family::kAux, "", ""), "c=v ");
}

TEST_P(KvContractTest, RangesAreDeletedAndWrittenAnewBetweenNeighboursAlsoAcrossAReopen) {
  const auto key = [](int i) { return fmt::format("{}{}pod-{}", '\0', '\7', i); };
  std::string expected;
  for (int round = 0; round < 20; ++round) {
    WriteBatch batch;
    if (round % 2 == 0) {
      for (int i = 0; i < 9; ++i) batch.Put(Family::kPods, key(i), "old");
    }
    batch.DeleteRange(Family::kPods, key(0), key(7));
    expected.clear();
    for (int i = 0; i < 5; ++i) {
      batch.Put(Family::kPods, key(i), fmt::format("new-{}", round));
      expected += fmt::format("{}=new-{} ", key(i), round);
    }
    for (int i = 7; i < 9; ++i) expected += fmt::format("{}=old ", key(i));
    ASSERT_THAT(store_->Write(batch), IsOk());
    ASSERT_EQ(Keys(Family::kPods, "", ""), expected);
    if (round % 3 == 0) Reopen();
    ASSERT_EQ(Keys(Family::kPods, "", ""), expected);
  }
}

TEST_P(KvContractTest, BytesOfAnyValueSurvive) {
  const std::string key("\0\xff k\0", 5);
  const std::string value("\0v\xfe", 3);
  WriteBatch batch;
  batch.Put(Family::kMeta, key, value);
  batch.Put(Family::kMeta, "empty", "");
  ASSERT_THAT(store_->Write(batch), IsOk());
  Reopen();
  EXPECT_EQ(Read(Family::kMeta, key), value);
  EXPECT_EQ(Read(Family::kMeta, "empty"), "");
  EXPECT_THAT(store_->Write(WriteBatch()), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Stores, KvContractTest,
                         ::testing::Values(Medium{"Mem", OverMemory}, Medium{"Faulty", OverFaults},
                                           Medium{"Rocks", [] { return OverRocks(false); }},
                                           Medium{"RocksSync", [] { return OverRocks(true); }}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace basalt::kv
