#include "services/jobsvc/control/watch_records.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {
namespace {

constexpr uint32_t kSlot = 5;
constexpr int64_t kEpoch = 2;
constexpr int64_t kFirst = kEpoch << 24;

class WatchRecordsTest : public ::testing::Test {
 protected:
  struct Loaded {
    watch::RevisionLog log{{}, {}, 0};
    std::map<std::string, storage::v1::ShownJob> published;  // By key.
  };
  void Write() {
    ASSERT_TRUE(store_->Write(batch_).ok());
    batch_.Clear();
  }
  Loaded Load() {
    Loaded loaded;
    auto log = LoadRevisions(
        *store_, kSlot, kEpoch,
        [&](const std::string& key, const storage::v1::ShownJob& job) { loaded.published[key] = job; }, damage_);
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

// What an earlier version of the process has stored is read, and what is stored now by a later one.
TEST_F(WatchRecordsTest, TheFormatOfWhatIsStoredStaysAsItIs) {
  EXPECT_EQ(RecordPublished(kSlot, "n/a", 0x0102030405060708, log_, random_, batch_), kFirst);
  RecordDeleted(kSlot, "n/b", "u", log_, random_, batch_);
  Write();
  const std::string slot("\x00\x05", 2);
  const std::string first = "\x80\x80\x80\x10";   // The varint of kFirst.
  const std::string second = "\x81\x80\x80\x10";  // The varint of the next one.
  EXPECT_EQ(Stored(slot + "shown" + '\0' + "n/a" + '\0'), "\x08" + first + "\x11\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(Stored(slot + "shown" + '\0' + "n/b" + '\0'), "\x08" + second + "\x18\x01\x22\x01u");
  std::string incarnation;
  for (int shift = 0; shift < 64; shift += 8) {
    incarnation += static_cast<char>((log_.position().incarnation >> shift) & 0xff);
  }
  EXPECT_EQ(Stored(slot + "watch" + '\0'), "\x09" + incarnation + "\x10" + second);
}

TEST_F(WatchRecordsTest, WhatIsRecordedIsLoaded) {
  RecordPublished(kSlot, "n/a", 7, log_, random_, batch_);
  RecordPublished(kSlot, "n/b", 8, log_, random_, batch_);
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

TEST_F(WatchRecordsTest, ADeletionThatIsForgottenIsStoredNoMore) {
  for (size_t i = 0; i <= watch::RevisionLog::kMaxDeletions; ++i) {
    RecordDeleted(kSlot, "n/" + std::to_string(i), "uid", log_, random_, batch_);
  }
  Write();
  EXPECT_EQ(Stored(ShownJobKey(kSlot, "n/0")), "none");
  EXPECT_NE(Stored(ShownJobKey(kSlot, "n/1")), "none");
  EXPECT_EQ(Load().log.state().forgotten, kFirst);
}

}  // namespace
}  // namespace basalt::jobsvc
