#include "common/watch/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/watch/watch_hub_fixture.h"

namespace basalt::watch {
namespace {

TEST_F(WatchHubTest, ASlowSubscriberGetsTheNewestStateOfEachObjectAndIsToldOnce) {
  const auto subscription = Synced();
  Publish("n/b", 7);
  for (int i = 1; i <= 100; ++i) Publish("n/a", i);
  EXPECT_EQ(notified_, 1) << "once until it was taken";
  EXPECT_EQ(Drain(subscription), "STATE n/b@7, STATE n/a@100");
  EXPECT_EQ(position_, revision_);
  Publish("n/a", 101);
  EXPECT_EQ(notified_, 2);
  EXPECT_EQ(Drain(subscription), "STATE n/a@101");
}

TEST_F(WatchHubTest, WhoHasTakenAPositionInKnowsAllBeforeIt) {
  const auto subscription = Synced();
  Publish("n/a", 1);  // This change has revision 1.
  Publish("n/b", 2);
  Publish("n/a", 3);  // The newest state of n/a waits behind that of n/b now.
  auto event = hub_.Take(subscription);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(MetaOf(*event).name(), "b");
  EXPECT_EQ(event->published->position.revision, 2);
  event = hub_.Take(subscription);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->published->position.revision, 3);
}

TEST_F(WatchHubTest, ADeletionReplacesWhatWaitsAndANewObjectReplacesTheDeletion) {
  const auto subscription = Synced();
  Publish("n/a", 1);
  PublishDeleted("n/a", 2);
  EXPECT_EQ(Drain(subscription), "DELETED n/a@2");
  PublishDeleted("n/a", 2);
  Publish("n/a", 3);
  EXPECT_EQ(Drain(subscription), "STATE n/a@3");
}

TEST_F(WatchHubTest, OnlyWhatWasAskedForIsMadeAndTold) {
  const auto one = Synced("n", "a");
  const auto space = Synced("n");
  Publish("n/ab");
  Publish("nn/a");
  Publish("n/a");
  EXPECT_EQ(Drain(one), "STATE n/a@1");
  EXPECT_EQ(Drain(space), "STATE n/ab@1, STATE n/a@1");
  made_ = 0;
  Publish("other/x");
  EXPECT_EQ(made_, 0);
}

TEST_F(WatchHubTest, ChangesOfOthersAreProgress) {
  const auto subscription = Synced("n");
  Publish("n/a");
  Publish("other/a");
  hub_.WantProgress(subscription);
  EXPECT_EQ(Drain(subscription), "STATE n/a@1") << "not past what waits";
  EXPECT_EQ(position_, 1);
  hub_.WantProgress(subscription);
  EXPECT_EQ(Drain(subscription), "PROGRESS");
  EXPECT_EQ(position_, 2);
  hub_.WantProgress(subscription);
  EXPECT_EQ(Drain(subscription), "") << "once";
}

// The hub holds its mutex while a message is made, so a call that needs the mutex would never return there.
TEST_F(WatchHubTest, AWatcherForWhomNothingHasChangedWaitsForNobody) {
  const auto idle = Synced();
  const auto other = Subscribe("", "", {1});
  EXPECT_EQ(Drain(other), "SYNCED");
  Put(1, "n/a", {++revision_, 1, /*deleted=*/false});
  hub_.Publish(1, {kIncarnation, revision_}, "n/a", [&] {
    for (int i = 0; i < 1000; ++i) hub_.WantProgress(idle);
    return Make("n/a", 1);
  });
  EXPECT_EQ(Drain(other), "STATE n/a@1");
  hub_.WantProgress(other);
  EXPECT_EQ(Drain(other), "");
}

TEST_F(WatchHubTest, ProgressTellsOfTheSlotsThatHaveChangedAlone) {
  const auto subscription = Subscribe("n", "", {0, 1, 2});
  EXPECT_EQ(Drain(subscription), "SYNCED");
  Publish("other/a", 1, 1);
  hub_.WantProgress(subscription);
  const std::optional<WatchEvent> event = Take(subscription);
  ASSERT_TRUE(event.has_value());
  ASSERT_EQ(event->positions.size(), 1U);
  EXPECT_EQ(event->positions.front().first, 1U);
  EXPECT_EQ(event->positions.front().second.revision, revision_);
}

TEST_F(WatchHubTest, AnObjectThatIsGoneBeforeItsStateIsMadeIsToldAsGone) {
  const auto live = Synced();
  service_[0].objects.clear();
  hub_.Publish(0, {kIncarnation, ++revision_}, "n/a", [] { return nullptr; });
  EXPECT_EQ(Drain(live), "");
  PublishDeleted("n/a", 2);
  EXPECT_EQ(Drain(live), "DELETED n/a@2");
  const auto behind = Subscribe();
  for (const std::vector<uint32_t>& slots : hub_.StartFill(behind, 1)) {
    EXPECT_EQ(slots, std::vector<uint32_t>{0});
    WatchHub::Snapshot snapshot;
    snapshot.items.push_back({{kIncarnation, revision_}, "n/b", /*deleted=*/false, [] { return nullptr; }});
    hub_.Fill(behind, 0, {kIncarnation, revision_}, /*reset=*/false, snapshot);
    hub_.FillDone(behind);
  }
  EXPECT_EQ(Drain(behind), "SYNCED");
}

TEST_F(WatchHubTest, TheSnapshotEndsWithSyncedAndNeverOverwritesWhatIsNewer) {
  Publish("n/a", 1);
  Publish("n/b", 2);
  const auto subscription = Subscribe();
  Publish("n/a", 3);
  EXPECT_FALSE(hub_.Take(subscription).has_value()) << "nothing of a slot before its page";
  Fill(subscription);
  Publish("n/a", 5);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/a@5, SYNCED");
  EXPECT_EQ(position_, revision_);
}

TEST_F(WatchHubTest, SyncedWaitsForWhatTheSnapshotHadAlsoIfItHasChangedSince) {
  Publish("n/a", 1);
  Publish("n/b", 2);
  const auto subscription = Subscribe();
  Fill(subscription);
  Publish("n/c", 3);
  Publish("n/a", 4);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/c@3, STATE n/a@4, SYNCED");
}

TEST_F(WatchHubTest, SyncedWaitsForObjectsThatAreThereAndNotPublishedYet) {
  Publish("n/a", 1);
  service_[0].unpublished = true;
  const auto subscription = Subscribe("n");
  EXPECT_EQ(Drain(subscription), "STATE n/a@1");
  Publish("n/b", 2);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2") << "what is published does not wait for others";
  notified_ = 0;
  hub_.DropUnpublished(0, "other/c");
  EXPECT_EQ(notified_, 0) << "nobody has waited for it";
  service_[0].unpublished = false;
  hub_.DropUnpublished(0, "n/c");
  EXPECT_EQ(notified_, 1) << "it may be over by that";
  EXPECT_EQ(Drain(subscription), "SYNCED");
}

TEST_F(WatchHubTest, NobodyWaitsForObjectsOfASlotThatMovesAway) {
  service_[0].unpublished = true;
  const auto subscription = Subscribe("", "", {0, 1});
  EXPECT_EQ(Drain(subscription), "");
  hub_.Close(0);
  EXPECT_EQ(Drain(subscription), "MOVED 0, SYNCED");
}

TEST_F(WatchHubTest, ASlotThatMovesAwayIsToldAndNothingMoreComesOfIt) {
  service_[2].here = false;
  const auto subscription = Subscribe("", "", {0, 1, 2});
  EXPECT_EQ(Drain(subscription), "MOVED 2, SYNCED");
  Publish("n/a", 1, 0);
  Publish("n/b", 2, 1);
  hub_.Close(0);
  Publish("n/a", 3, 0);
  EXPECT_EQ(Drain(subscription), "MOVED 0, STATE n/b@2");
}

TEST_F(WatchHubTest, AResetComesBeforeTheSnapshot) {
  Publish("n/a", 1, 5);
  Publish("n/a", 2, 5);
  service_[5].forgotten = 2;
  const auto subscription = *hub_.Subscribe("", "", {{5, {kIncarnation, 1}}}, [] {});
  EXPECT_EQ(Drain(subscription), "RESET 5, STATE n/a@2, SYNCED");
}

TEST_F(WatchHubTest, NothingComesAfterUnsubscribe) {
  const auto subscription = Synced();
  hub_.Unsubscribe(subscription);
  Publish("n/a");
  EXPECT_EQ(Drain(subscription), "");
  const auto filling = Subscribe();
  EXPECT_EQ(hub_.StartFill(filling, 1).size(), 1u);
  hub_.Unsubscribe(filling);
  FillSlot(filling, 0);
  hub_.FillDone(filling);
  EXPECT_EQ(notified_, 0);
  EXPECT_EQ(Drain(filling), "");
}

TEST_F(WatchHubTest, PublishersAndSubscribersOnManyThreadsSeeTheNewestState) {
  constexpr int kPublishers = 4;
  constexpr int kRounds = 500;
  std::atomic<int> running = kPublishers;
  std::vector<std::thread> threads;
  for (int p = 0; p < kPublishers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 1; i <= kRounds; ++i) {
        const std::string key = "n/" + std::to_string(p);
        hub_.Publish(static_cast<uint32_t>(p), {kIncarnation, i}, key, [&] { return MakeMessage(key, i); });
      }
      --running;
    });
  }
  std::vector<std::map<std::string, int64_t>> seen(2);
  for (auto& mine : seen) {
    threads.emplace_back([&] {
      const auto subscription = *hub_.Subscribe("n", "", {{0, {}}, {1, {}}, {2, {}}, {3, {}}}, [] {});
      for (uint32_t slot = 0; slot < kPublishers; ++slot) hub_.Fill(subscription, slot, {}, false, {});
      bool last = false;
      while (true) {
        while (const auto event = hub_.Take(subscription)) {
          if (event->published == nullptr) continue;  // This event is SYNCED.
          const ObjectMeta& meta = MetaOf(*event);
          int64_t& version = mine[meta.name()];
          EXPECT_GT(meta.resource_version(), version) << "never older";
          EXPECT_EQ(meta.resource_version(), event->published->position.revision);
          version = meta.resource_version();
        }
        if (last) break;
        last = running == 0;
        std::this_thread::yield();
      }
      hub_.Unsubscribe(subscription);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : seen) {
    for (const auto& [name, version] : mine) EXPECT_EQ(version, kRounds) << name;
  }
}

}  // namespace
}  // namespace basalt::watch
