#include "common/runtime/watch/watch_records.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace basalt::runtime {
namespace {

constexpr uint32_t kSlot = 5;
constexpr int64_t kEpoch = 2;
constexpr int64_t kFirst = kEpoch << 24;

class WatchRecordsTest : public ::testing::Test {
 protected:
  struct Loaded {
    watch::RevisionLog log{{}, {}, 0};
    std::map<std::string, storage::v1::PublishedObject> published;  // By key.
  };
  int64_t Publish(const std::string& key, uint64_t state) {
    storage::v1::PublishedObject shown;
    shown.set_state(state);
    return RecordPublished(kSlot, key, std::move(shown), log_, random_, batch_);
  }
  void Write() {
    ASSERT_TRUE(store_->Write(batch_).ok());
    batch_.Clear();
  }
  Loaded Load() {
    Loaded loaded;
    auto log = LoadRevisions(
        *store_, kSlot, kEpoch,
        [&](const std::string& key, const storage::v1::PublishedObject& shown) { loaded.published[key] = shown; },
        damage_);
    EXPECT_TRUE(log.ok()) << log.status();
    if (log.ok()) loaded.log = *std::move(log);
    return loaded;
  }
  std::string Stored(const std::string& key) const { return store_->Get(kv::Family::kAux, key)->value_or("none"); }

  const std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  SeededRandom random_{1};
  kv::Damage damage_;
  kv::WriteBatch batch_;
  watch::RevisionLog log_{{}, {}, kEpoch};
};

// A process reads the records of an earlier version, and a later version reads the records of this one.
TEST_F(WatchRecordsTest, TheFormatOfWhatIsStoredStaysAsItIs) {
  EXPECT_EQ(Publish("n/a", 0x0102030405060708), kFirst);
  RecordDeleted(kSlot, "n/b", "u", log_, random_, batch_);
  Write();
  const std::string slot("\x00\x05", 2);
  const std::string first = "\x80\x80\x80\x10";   // The varint of kFirst.
  const std::string second = "\x81\x80\x80\x10";  // The varint of the next one.
  EXPECT_EQ(Stored(slot + "published" + '\0' + "n/a" + '\0'), "\x08" + first + "\x11\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(Stored(slot + "published" + '\0' + "n/b" + '\0'), "\x08" + second + "\x18\x01\x22\x01u");
  std::string incarnation;
  for (int shift = 0; shift < 64; shift += 8) {
    incarnation += static_cast<char>((log_.position().incarnation >> shift) & 0xff);
  }
  EXPECT_EQ(Stored(slot + "watch" + '\0'), "\x09" + incarnation + "\x10" + second);
}

TEST_F(WatchRecordsTest, RecordsAreLoadedAsTheyWereWritten) {
  Publish("n/a", 7);
  Publish("n/b", 8);
  RecordDeleted(kSlot, "n/b", "uid-b", log_, random_, batch_);
  RecordDeleted(kSlot, "n/c", "uid-c", log_, random_, batch_);
  Write();
  const Loaded loaded = Load();
  EXPECT_TRUE(damage_.empty());
  EXPECT_EQ(loaded.log.state(), log_.state());
  ASSERT_EQ(loaded.published.size(), 1u);
  EXPECT_EQ(loaded.published.at("n/a").revision(), kFirst);
  EXPECT_EQ(loaded.published.at("n/a").state(), 7u);
  ASSERT_EQ(loaded.log.deletions().size(), 2u);
  EXPECT_EQ(loaded.log.deletions()[0].key, "n/b");
  EXPECT_EQ(loaded.log.deletions()[1].uid, "uid-c");
}

TEST_F(WatchRecordsTest, AnUnreadableRecordIsLeftOutAndNamed) {
  Publish("n/a", 7);
  Publish("n/b", 8);
  batch_.Put(kv::Family::kAux, ShownKey(kSlot, "n/a"), "\xff");
  batch_.Put(kv::Family::kAux, SlotWatchKey(kSlot), "\xff");
  Write();
  EXPECT_EQ(Load().published.size(), 1u);
  ASSERT_EQ(damage_.size(), 2u);
  EXPECT_EQ(damage_[0].kind, "watch");
  EXPECT_EQ(damage_[1].kind, "published");
  EXPECT_EQ(damage_[1].owner, "n/a");
}

TEST_F(WatchRecordsTest, ADeletionThatIsForgottenIsStoredNoMore) {
  for (size_t i = 0; i <= watch::RevisionLog::kMaxDeletions; ++i) {
    RecordDeleted(kSlot, "n/" + std::to_string(i), "uid", log_, random_, batch_);
  }
  Write();
  EXPECT_EQ(Stored(ShownKey(kSlot, "n/0")), "none");
  EXPECT_NE(Stored(ShownKey(kSlot, "n/1")), "none");
  EXPECT_EQ(Load().log.state().forgotten, kFirst);
}

}  // namespace
}  // namespace basalt::runtime
