// Tests which stores OpenRocksKv refuses, and how --rebuild helps.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "basalt/storage/v1/storage.pb.h"
#include "common/kv/kv_store.h"
#include "common/kv/migrations.h"
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
    options_.data_dir = folder_ / "data";
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

  // Leaves the store as a program of that schema would, with these records in kAux.
  void SetSchema(uint32_t version, uint32_t readable_from, const std::map<std::string, std::string>& records) {
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    storage::v1::StoreIdentity identity = IdentityOf(**store);
    identity.set_schema_version(version);
    identity.set_readable_from(readable_from);
    WriteBatch batch;
    batch.Put(Family::kMeta, "!identity", identity.SerializeAsString());
    for (const auto& [key, value] : records) batch.Put(Family::kAux, key, value);
    ASSERT_THAT((*store)->Write(batch), IsOk());
  }
  static storage::v1::StoreIdentity IdentityOf(const KvStore& store) {
    storage::v1::StoreIdentity identity;
    EXPECT_TRUE(identity.ParseFromString(**store.Get(Family::kMeta, "!identity")));
    return identity;
  }
  static uint32_t Schema(const KvStore& store) { return IdentityOf(store).schema_version(); }
  static std::string SlotKey(std::string_view kind) {
    std::string key;
    PutSlot(key, 7);
    PutText(key, kind);
    PutText(key, "ns/name");
    return key;
  }

  // The folder of the store, and the first path to which the folder is moved aside.
  std::string Store() const { return options_.data_dir + "/store"; }
  std::string Aside() const { return Store() + ".aside-1"; }

  basalt::testing::TempDir folder_;
  OpenOptions options_;
};

TEST_F(RocksKvTest, AFolderThatIsOpenElsewhereIsRefusedAndNotMovedAside) {
  auto first = OpenRocksKv(options_);
  ASSERT_THAT(first, IsOk());
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              AllOf(HasSubstr("another process has"), HasSubstr(Store()))));
  EXPECT_FALSE(fs::exists(Aside()));
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

TEST_F(RocksKvTest, AStoreOfAnOlderSchemaIsMigratedOnceAndKeepsItsIdentity) {
  const std::string old = SlotKey("shown"), renamed = SlotKey("published");
  SetSchema(1, 0, {{old, "record"}});
  for (int i = 0; i < 2; ++i) {
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    EXPECT_EQ(*(*store)->Get(Family::kAux, old), std::nullopt);
    EXPECT_EQ(*(*store)->Get(Family::kAux, renamed), "record");
    EXPECT_EQ(Schema(**store), kSchemaVersion);
  }
}

TEST_F(RocksKvTest, AStoreOfANewerSchemaIsTakenBackWhereItSaysSoAndElseRefused) {
  SetSchema(kSchemaVersion + 2, kSchemaVersion, {});
  {
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    EXPECT_EQ(Schema(**store), kSchemaVersion) << "the newer program has to migrate what this one writes";
  }
  for (const uint32_t readable_from : {kSchemaVersion + 1, 0U}) {
    options_.data_dir = folder_ / fmt::format("readable-from-{}", readable_from);
    SetSchema(kSchemaVersion + 2, readable_from, {});
    EXPECT_THAT(OpenRocksKv(options_),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("was written by a newer program"),
                               HasSubstr(fmt::format("its schema is {}", kSchemaVersion + 2)),
                               HasSubstr("Start the newer program again"), HasSubstr("--rebuild"))));
  }
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
  fs::create_directories(folder_ / "other");
  fs::rename(Aside(), folder_ / "other/store");
  options_.data_dir = folder_ / "other";
  auto aside = OpenRocksKv(options_);
  ASSERT_THAT(aside, IsOk());
  EXPECT_TRUE(HasRecord(**aside));
}

TEST_F(RocksKvTest, AStoreFolderOfSomethingElseIsRefused) {
  fs::create_directories(Store());
  std::ofstream(Store() + "/thesis.tex") << "text";
  EXPECT_THAT(OpenRocksKv(options_), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("thesis.tex")));
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
  EXPECT_TRUE(fs::exists(Aside() + "/thesis.tex"));
}

TEST_F(RocksKvTest, DamageIsNamedAndRebuildHelps) {
  const std::vector<std::pair<std::string, std::function<void()>>> damages = {
      {"CURRENT is gone", [&] { fs::remove(Store() + "/CURRENT"); }},
      {"CURRENT points nowhere", [&] { std::ofstream(Store() + "/CURRENT") << "MANIFEST-999999\n"; }},
      {"CURRENT is garbage", [&] { std::ofstream(Store() + "/CURRENT") << "garbage"; }},
      {"the manifest is garbage",
       [&] {
         for (const auto& entry : fs::directory_iterator(Store())) {
           if (entry.path().filename().string().starts_with("MANIFEST-")) {
             std::ofstream(entry.path(), std::ios::trunc) << std::string(4096, 'x');
           }
         }
       }},
  };
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    fs::remove_all(options_.data_dir);
    Fill();
    damage();
    options_.rebuild = false;
    EXPECT_THAT(OpenRocksKv(options_),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(Store()), HasSubstr("--rebuild"))));
    options_.rebuild = true;
    auto store = OpenRocksKv(options_);
    ASSERT_THAT(store, IsOk());
    EXPECT_FALSE(HasRecord(**store));
    store->reset();
  }
}

TEST_F(RocksKvTest, AFirstStartThatWasKilledHalfWayIsStartedAgain) {
  fs::create_directories(Store());
  std::ofstream(Store() + "/LOCK");
  std::ofstream(Store() + "/LOG") << "opening";
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
}

// A freshly formatted ext4 volume has a lost+found that only root may read.
TEST_F(RocksKvTest, AVolumesOwnFoldersAreLeftAlone) {
  const std::string lost_and_found = options_.data_dir + "/lost+found";
  fs::create_directories(lost_and_found);
  std::ofstream(lost_and_found + "/#12") << "found";
  fs::permissions(lost_and_found, fs::perms::owner_all);
  Fill();
  std::ofstream(Store() + "/CURRENT") << "garbage";
  struct stat before = {};
  ASSERT_EQ(stat(options_.data_dir.c_str(), &before), 0);
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
  struct stat after = {};
  ASSERT_EQ(stat(options_.data_dir.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino) << "a mount point cannot be moved aside";
  EXPECT_TRUE(fs::exists(lost_and_found + "/#12"));
  EXPECT_TRUE(fs::exists(Aside() + "/CURRENT"));
}

TEST_F(RocksKvTest, AStoreDirectlyInTheDataFolderIsRefusedAndGoesOnOnceItIsMoved) {
  Fill();
  const auto move_files = [](const fs::path& from, const fs::path& to) {
    fs::create_directories(to);
    for (const auto& file : fs::directory_iterator(from)) fs::rename(file, to / file.path().filename());
  };
  move_files(Store(), folder_ / "between");
  fs::remove(Store());
  move_files(folder_ / "between", options_.data_dir);
  EXPECT_THAT(OpenRocksKv(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("move its files"), HasSubstr(Store()), HasSubstr("--rebuild"))));
  EXPECT_FALSE(fs::exists(Store()));
  move_files(options_.data_dir, folder_ / "between");
  move_files(folder_ / "between", Store());
  auto store = OpenRocksKv(options_);
  ASSERT_THAT(store, IsOk());
  EXPECT_TRUE(HasRecord(**store));
}

TEST_F(RocksKvTest, RebuildLeavesAStoreDirectlyInTheDataFolderWhereItIs) {
  fs::create_directories(options_.data_dir);
  std::ofstream(options_.data_dir + "/CURRENT") << "MANIFEST-000001\n";
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
  EXPECT_TRUE(fs::exists(options_.data_dir + "/CURRENT"));
  options_.rebuild = false;
  EXPECT_THAT(OpenRocksKv(options_), IsOk()) << "the new one is there";
}

TEST_F(RocksKvTest, ADataFolderThatIsAFileIsRefusedAndStays) {
  std::ofstream(options_.data_dir) << "text";
  options_.rebuild = true;
  EXPECT_THAT(OpenRocksKv(options_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              AllOf(HasSubstr(options_.data_dir), HasSubstr("folder"))));
  EXPECT_TRUE(fs::is_regular_file(options_.data_dir));
}

TEST_F(RocksKvTest, ItsFilesArePrivate) {
  const mode_t before = umask(0);
  Fill();
  umask(before);
  const auto mode = [](const std::string& path) { return fs::status(path).permissions() & fs::perms::all; };
  EXPECT_EQ(mode(options_.data_dir), fs::perms::owner_all);
  EXPECT_EQ(mode(Store()), fs::perms::owner_all);
  // An existing volume keeps the permissions that its owner gave it. The store of an earlier version loses those of
  // others.
  fs::permissions(options_.data_dir, fs::perms::all);
  fs::permissions(Store(), fs::perms::all);
  EXPECT_THAT(OpenRocksKv(options_), IsOk());
  EXPECT_EQ(mode(options_.data_dir), fs::perms::all);
  EXPECT_EQ(mode(Store()), fs::perms::owner_all);
}

TEST_F(RocksKvTest, AFolderThatCannotBeMadeIsNamedWithTheReason) {
  fs::create_directories(options_.data_dir);
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_exec);
  fs::permissions(options_.data_dir, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  // Root may write anywhere, so the test tries as another user.
  const uid_t user = geteuid();
  ASSERT_EQ(seteuid(user == 0 ? 65534 : user), 0);
  const absl::Status refused = OpenRocksKv(options_).status();
  ASSERT_EQ(seteuid(user), 0);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr(Store()), HasSubstr("Permission denied"),
                                      HasSubstr("must be able to write to " + options_.data_dir))));
}

}  // namespace
}  // namespace basalt::kv
