#include "common/runtime/watch/publisher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace basalt::runtime {
namespace {

using Kind = ShownChange::Kind;

constexpr uint32_t kSlot = 5;

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() { Start(); }
  // Starts a process that reads the records of the one before.
  void Start() {
    publisher_ = std::make_unique<Publisher>(random_);
    publisher_->SetListener([this](const ShownChange& change) { published_.push_back(change); });
    shown_ = {};
    known_.Clear();
    const auto load = [this](const std::string& key, const storage::v1::PublishedObject& record) {
      EXPECT_EQ(key, "n/a");
      shown_ = ShownOf(record);
      known_ = record;
    };
    kv::Damage damage;
    EXPECT_TRUE(publisher_->Open(*store_, kSlot, /*epoch=*/1, load, damage).ok());
    EXPECT_TRUE(damage.empty());
  }
  // Returns the changes published by a pass that finds the object in that state. Empty if there are none.
  std::vector<Kind> Pass(uint64_t state) {
    publisher_->PublishIfChanged(kSlot, "n/a", state, {"uid", 8}, shown_, batch_);
    return WriteAndPublish();
  }
  std::vector<Kind> End() {
    publisher_->PublishEnd(kSlot, "n/a", "uid", shown_, batch_);
    return WriteAndPublish();
  }
  std::vector<Kind> WriteAndPublish() {
    published_.clear();
    EXPECT_TRUE(store_->Write(batch_).ok());
    batch_.Clear();
    publisher_->NotifyListeners();
    std::vector<Kind> kinds;
    for (const ShownChange& change : published_) kinds.push_back(change.kind);
    return kinds;
  }

  const std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  SeededRandom random_{1};
  std::unique_ptr<Publisher> publisher_;
  Shown shown_;
  storage::v1::PublishedObject known_;  // The record as the process found it at its start.
  kv::WriteBatch batch_;
  std::vector<ShownChange> published_;
};

TEST_F(PublisherTest, TellsOnceOfEachState) {
  EXPECT_EQ(Pass(1), std::vector<Kind>{Kind::kShown});
  EXPECT_EQ(published_.front().key, "n/a");
  EXPECT_EQ(published_.front().position, publisher_->LogOf(kSlot)->position());
  EXPECT_EQ(Pass(1), std::vector<Kind>{});
  EXPECT_EQ(Pass(2), std::vector<Kind>{Kind::kShown});
}

TEST_F(PublisherTest, TellsNothingBeforeItIsDurable) {
  publisher_->PublishIfChanged(kSlot, "n/a", 1, shown_, batch_);
  EXPECT_TRUE(published_.empty());
  EXPECT_EQ(WriteAndPublish(), std::vector<Kind>{Kind::kShown});
}

TEST_F(PublisherTest, TellsOfTheEndOfWhatWasShown) {
  EXPECT_EQ(End(), std::vector<Kind>{Kind::kUnseen});
  Pass(1);
  EXPECT_EQ(End(), std::vector<Kind>{Kind::kGone});
  EXPECT_EQ(published_.front().uid, "uid");
  EXPECT_EQ(End(), std::vector<Kind>{Kind::kUnseen}) << "it is told once";
}

TEST_F(PublisherTest, GoesOnWhereTheProcessBeforeEnded) {
  Pass(1);
  const watch::WatchPosition before = publisher_->LogOf(kSlot)->position();
  Start();
  EXPECT_EQ(known_.uid(), "uid");
  EXPECT_EQ(known_.resource_version(), 8);
  EXPECT_TRUE(publisher_->LogOf(kSlot)->Knows(before));
  EXPECT_EQ(Pass(1), std::vector<Kind>{}) << "told before";
  EXPECT_EQ(End(), std::vector<Kind>{Kind::kGone});
  Start();
  EXPECT_EQ(shown_.revision, 0);
  ASSERT_EQ(publisher_->LogOf(kSlot)->deletions().size(), 1U);
  EXPECT_EQ(publisher_->LogOf(kSlot)->deletions().front().key, "n/a");
}

TEST_F(PublisherTest, TellsOnceMoreWhatItOwes) {
  Pass(1);
  shown_.is_owed = true;
  EXPECT_EQ(Pass(1), std::vector<Kind>{Kind::kShown});
  EXPECT_EQ(Pass(1), std::vector<Kind>{});
  shown_.is_owed = true;
  End();
  EXPECT_FALSE(shown_.is_owed);
}

TEST_F(PublisherTest, ASlotThatBeginsAnewKnowsNothingOfBefore) {
  Pass(1);
  const watch::WatchPosition before = publisher_->LogOf(kSlot)->position();
  publisher_->BeginAnew(kSlot, batch_);
  WriteAndPublish();
  Start();
  EXPECT_EQ(shown_.revision, 0);
  EXPECT_FALSE(publisher_->LogOf(kSlot)->Knows(before));
}

TEST_F(PublisherTest, DamageCanBeginASlotAnewAtOnce) {
  Pass(1);
  const watch::WatchPosition before = publisher_->LogOf(kSlot)->position();
  batch_.Put(kv::Family::kAux, SlotWatchKey(kSlot), "\xff");
  WriteAndPublish();
  for (const size_t damaged : {1U, 0U}) {
    publisher_ = std::make_unique<Publisher>(random_);
    kv::Damage damage;
    const auto visit = [](const std::string& key, const storage::v1::PublishedObject&) { ADD_FAILURE() << key; };
    ASSERT_TRUE(publisher_->OpenOrBeginAnew(*store_, kSlot, /*epoch=*/1, visit, damage).ok());
    EXPECT_EQ(damage.size(), damaged);
    EXPECT_FALSE(publisher_->LogOf(kSlot)->Knows(before));
  }
}

TEST_F(PublisherTest, TellsNothingOfASlotThatIsClosedButThat) {
  publisher_->PublishIfChanged(kSlot, "n/a", 1, shown_, batch_);
  publisher_->Close(kSlot);
  ASSERT_EQ(published_.size(), 1U);
  EXPECT_EQ(published_.front().kind, Kind::kClosed);
  EXPECT_EQ(publisher_->LogOf(kSlot), nullptr);
  EXPECT_EQ(Pass(2), std::vector<Kind>{});
}

}  // namespace
}  // namespace basalt::runtime
