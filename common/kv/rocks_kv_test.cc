// What OpenRocksKv refuses, and what --rebuild does about it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/kv/kv_store.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RocksKvTest : public ::testing::Test {
 protected:
  RocksKvTest() {
    options_.path = folder_ / "db";
    options_.cluster = "east";
    options_.service = "jobsvc";
    options_.replica = "jobsvc-0";
  }

  void Fill() {
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    WriteBatch batch;
    batch.Put(Family::kRecords, "a", "1");
    ASSERT_THAT((*store)->Write(batch), IsOk());
  }

  bool HasRecord(KvStore& store) { return (*store.Get(Family::kRecords, "a")).has_value(); }

  basalt::testing::TempDir folder_;
  OpenOptions options_;
};

TEST_F(RocksKvTest, AFolderThatIsOpenElsewhereIsRefusedAndNotMovedAside) {
  auto first = OpenRocksKv(options_);
  ASSERT_THAT(first, IsOk());
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              AllOf(HasSubstr("another process has"), HasSubstr(options_.path))));
  EXPECT_FALSE(fs::exists(options_.path + ".aside-1"));
}

TEST_F(RocksKvTest, AStoreOfAnotherIdentityIsRefusedWithBothValues) {
  Fill();
  OpenOptions other = options_;
  other.cluster = "west";
  other.replica = "jobsvc-1";
  EXPECT_THAT(OpenRocksKv(other),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("cluster is 'east' there and 'west' here"),
                             HasSubstr("replica is 'jobsvc-0' there and 'jobsvc-1' here"), HasSubstr("--rebuild"))));
  auto still = OpenRocksKv(options_);
  ASSERT_THAT(still, IsOk());
  EXPECT_TRUE(HasRecord(**still));
}

TEST_F(RocksKvTest, RebuildMovesAForeignStoreAsideAndStartsFresh) {
  Fill();
  OpenOptions other = options_;
  other.replica = "jobsvc-1";
  other.rebuild = true;
  {
    auto fresh = OpenRocksKv(other);
    ASSERT_THAT(fresh, IsOk());
    EXPECT_FALSE(HasRecord(**fresh));
  }
  options_.path += ".aside-1";
  auto aside = OpenRocksKv(options_);
  ASSERT_THAT(aside, IsOk());
  EXPECT_TRUE(HasRecord(**aside));
}

TEST_F(RocksKvTest, AFolderOfSomethingElseIsRefused) {
  fs::create_directories(options_.path);
  std::ofstream(options_.path + "/thesis.tex") << "text";
  EXPECT_THAT(OpenRocksKv(options_), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("thesis.tex")));
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
  EXPECT_TRUE(fs::exists(options_.path + ".aside-1/thesis.tex"));
}

TEST_F(RocksKvTest, DamageIsNamedAndRebuildHelps) {
  const std::vector<std::pair<std::string, std::function<void()>>> damages = {
      {"CURRENT is gone", [&] { fs::remove(options_.path + "/CURRENT"); }},
      {"CURRENT points nowhere", [&] { std::ofstream(options_.path + "/CURRENT") << "MANIFEST-999999\n"; }},
      {"CURRENT is garbage", [&] { std::ofstream(options_.path + "/CURRENT") << "garbage"; }},
      {"the manifest is garbage",
       [&] {
         for (const auto& entry : fs::directory_iterator(options_.path)) {
           if (entry.path().filename().string().starts_with("MANIFEST-")) {
             std::ofstream(entry.path(), std::ios::trunc) << std::string(4096, 'x');
           }
         }
       }},
  };
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    fs::remove_all(options_.path);
    Fill();
    damage();
    options_.rebuild = false;
    EXPECT_THAT(OpenRocksKv(options_),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(options_.path), HasSubstr("--rebuild"))));
    options_.rebuild = true;
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    EXPECT_FALSE(HasRecord(**store));
    store->reset();
  }
}

TEST_F(RocksKvTest, AFirstStartThatWasKilledHalfWayIsStartedAgain) {
  fs::create_directories(options_.path);
  std::ofstream(options_.path + "/LOCK");
  std::ofstream(options_.path + "/LOG") << "opening";
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
}

}  // namespace
}  // namespace basalt::kv
