#include "common/kv/faulty_kv.h"

#include <gtest/gtest.h>

#include "common/testing/status_matchers.h"

namespace basalt::kv {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;

WriteBatch One(std::string_view key) {
  WriteBatch batch;
  batch.Put(Family::kRecords, key, "v");
  return batch;
}

TEST(FaultyKvTest, TheChosenWriteFailsAndEverythingAfterIt) {
  auto disk = MakeMemDisk();
  FaultyKv store(OpenMemKv(disk));
  store.FailWrite(2, absl::DataLossError("disk gone"));
  EXPECT_THAT(store.Write(One("a")), IsOk());
  EXPECT_THAT(store.Write(One("b")), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(store.Write(One("c")), StatusIs(absl::StatusCode::kDataLoss));
  auto again = OpenMemKv(disk);
  EXPECT_TRUE((*again->Get(Family::kRecords, "a")).has_value());
  EXPECT_FALSE((*again->Get(Family::kRecords, "b")).has_value());
  EXPECT_FALSE((*again->Get(Family::kRecords, "c")).has_value());
}

TEST(FaultyKvTest, ADeathBeforeTheWriteKeepsItOutAndADeathAfterItKeepsItIn) {
  for (const bool after : {false, true}) {
    auto disk = MakeMemDisk();
    FaultyKv store(OpenMemKv(disk));
    const auto die = [](uint64_t write, const WriteBatch&) {
      return write == 1 ? absl::AbortedError("killed") : absl::OkStatus();
    };
    if (after) {
      store.SetHooks(nullptr, die);
    } else {
      store.SetHooks(die, nullptr);
    }
    EXPECT_THAT(store.Write(One("a")), StatusIs(absl::StatusCode::kAborted));
    EXPECT_THAT(store.Write(One("b")), StatusIs(absl::StatusCode::kAborted)) << "the dead write nothing";
    auto again = OpenMemKv(disk);
    EXPECT_EQ((*again->Get(Family::kRecords, "a")).has_value(), after);
    EXPECT_FALSE((*again->Get(Family::kRecords, "b")).has_value());
  }
}

}  // namespace
}  // namespace basalt::kv
