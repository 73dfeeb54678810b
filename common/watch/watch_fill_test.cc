// Tests the limits of the watchers' memory: pages, shared messages, and the number of watchers.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/watch/watch_hub_fixture.h"

namespace basalt::watch {
namespace {

class WatchFillTest : public WatchHubTest {};

TEST_F(WatchFillTest, OneWatchMoreThanThereMayBeIsRefusedUntilAnotherEnds) {
  WatchHub hub(/*max_watches=*/2);
  const auto first = hub.Subscribe("", "", {}, [] {});
  const auto second = hub.Subscribe("", "", {}, [] {});
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status refused = hub.Subscribe("", "", {}, [] {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ToStd(refused.message()),
            "2 watches are open, and a replica has no more (--max_watches): end some of them, or raise it");
  hub.Unsubscribe(*first);
  EXPECT_TRUE(hub.Subscribe("", "", {}, [] {}).ok());
}

TEST_F(WatchFillTest, AllWhoAreToldOfAStateHoldOneMessage) {
  Publish("n/a", 1);
  const auto one = Subscribe();
  const auto two = Subscribe();
  for (const auto& subscription : {one, two}) Fill(subscription);
  EXPECT_EQ(made_, 1) << "of two snapshots";
  EXPECT_EQ(hub_.Take(one)->published, hub_.Take(two)->published);
  EXPECT_EQ(live_, 0);
  Publish("n/b", 2);
  const auto late = Subscribe();
  Fill(late);
  EXPECT_EQ(made_, 3) << "a is made again, as nobody has it; b waits for the others already";
  PublishDeleted("n/b", 3);
  EXPECT_EQ(made_, 4);
  EXPECT_EQ(live_, 2);
}

TEST_F(WatchFillTest, ASlotComesInPagesAndChangesMeanwhileAreNotLost) {
  const int count = 2 * static_cast<int>(WatchHub::kPage);
  for (int i = 0; i < count; ++i) Publish("n/" + std::to_string(i), 1);
  const auto subscription = Subscribe();
  Fill(subscription);
  EXPECT_EQ(hub_.waiting(), WatchHub::kPage);
  EXPECT_EQ(MetaOf(*Take(subscription)).name(), "0");
  PublishDeleted("n/0", 2);                             // The state of n/0 was sent.
  PublishDeleted("n/1", 2);                             // The state of n/1 waits.
  PublishDeleted("n/" + std::to_string(count - 1), 2);  // The state of the last object is on no page yet.
  Publish("n/2", 2);
  Publish("n/new", 2);
  EXPECT_EQ(hub_.waiting(), WatchHub::kPage - 1) << "changes of a slot that is behind wait at its owner";
  const std::string events = Drain(subscription);
  EXPECT_TRUE(
      events.ends_with("STATE n/254@1, DELETED n/0@2, DELETED n/1@2, DELETED n/255@2, STATE n/2@2, STATE n/new@2, "
                       "SYNCED"))
      << events;
  EXPECT_EQ(position_, revision_);
}

class OldDeletionsTest : public WatchHubTest {
 protected:
  // The service remembers deletions between the objects, also past the first page.
  OldDeletionsTest() {
    PublishDeleted("n/old");
    for (size_t i = 0; i <= WatchHub::kPage; ++i) Publish("n/" + std::to_string(i));
    for (int i = 0; i < kDeletions; ++i) PublishDeleted("n/old-" + std::to_string(i));
    Publish("n/last");
  }

  static constexpr int kDeletions = 2 * static_cast<int>(WatchHub::kPage);
};

TEST_F(OldDeletionsTest, AreNotToldToWhoBeginsWithNothing) {
  const auto subscription = Subscribe();
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.starts_with("STATE n/0@1, ")) << events;
  EXPECT_TRUE(events.ends_with("STATE n/127@1, STATE n/128@1, STATE n/last@1, SYNCED")) << events;
  EXPECT_EQ(events.find("DELETED"), std::string::npos) << events;
  EXPECT_EQ(position_, revision_);
}

TEST_F(OldDeletionsTest, TakeNoRoomOfAPage) {
  const auto subscription = Subscribe();
  Fill(subscription);
  for (size_t i = 0; i < WatchHub::kPage; ++i) hub_.Take(subscription);
  made_ = 0;
  Fill(subscription);
  EXPECT_EQ(hub_.waiting(), 2U) << "128 and last";
  EXPECT_EQ(made_, 2);
}

TEST_F(OldDeletionsTest, DoNotHideThoseThatCameSince) {
  const auto subscription = Subscribe();
  Fill(subscription);
  EXPECT_EQ(MetaOf(*hub_.Take(subscription)).name(), "0");
  PublishDeleted("n/0", 2);     // The state of n/0 was sent.
  PublishDeleted("n/1", 2);     // The state of n/1 waits.
  PublishDeleted("n/last", 2);  // The state of n/last is on no page yet.
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.ends_with("STATE n/128@1, DELETED n/0@2, DELETED n/1@2, DELETED n/last@2, SYNCED")) << events;
  EXPECT_EQ(events.find("DELETED n/old"), std::string::npos) << events;
  EXPECT_EQ(position_, revision_);
}

TEST_F(OldDeletionsTest, AreNotToldToWhoFallsBehindBeforeThem) {
  service_[0].objects.erase("n/128");
  service_[0].objects.erase("n/last");
  const auto subscription = Subscribe();
  Fill(subscription);
  EXPECT_EQ(MetaOf(*hub_.Take(subscription)).name(), "0");
  Publish("n/more");
  Publish("n/much more");
  EXPECT_EQ(hub_.waiting(), 0U) << "it is behind";
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.ends_with("STATE n/127@1, STATE n/more@1, STATE n/much more@1, SYNCED")) << events;
  EXPECT_EQ(events.find("DELETED"), std::string::npos) << events;
}

TEST_F(OldDeletionsTest, AreNotToldAfterAResetWhichBeginsAnew) {
  service_[0].forgotten = 2;
  const auto subscription = *hub_.Subscribe("", "", {{0, {kIncarnation, 1}}}, [] {});
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.starts_with("RESET 0, STATE n/0@1, ")) << events;
  EXPECT_TRUE(events.ends_with("STATE n/128@1, STATE n/last@1, SYNCED")) << events;
  EXPECT_EQ(events.find("DELETED"), std::string::npos) << events;
}

TEST_F(OldDeletionsTest, AreToldToWhoGoesOnFromAPositionBeforeThem) {
  const auto subscription = *hub_.Subscribe("", "", {{0, {kIncarnation, revision_ - 3}}}, [] {});
  EXPECT_EQ(Drain(subscription), "DELETED n/old-254@1, DELETED n/old-255@1, STATE n/last@1, SYNCED");
}

TEST_F(WatchFillTest, ASlotWhoseChangeFindsNoRoomIsToldFromWhereItWas) {
  const auto subscription = Subscribe("", "", {0, 1});
  EXPECT_EQ(Drain(subscription), "SYNCED");
  for (size_t i = 0; i + 1 < WatchHub::kPage; ++i) Publish("n/" + std::to_string(i), 1, 0);
  Publish("n/x", 1, 1);
  Publish("n/y", 2, 1);
  EXPECT_EQ(hub_.waiting(), WatchHub::kPage - 1) << "slot 1 is behind";
  Publish("n/x", 3, 1);
  Publish("n/0", 2, 0);
  EXPECT_EQ(hub_.waiting(), WatchHub::kPage - 1) << "the newest of each object alone";
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.starts_with("STATE n/1@1, STATE n/2@1")) << events;
  EXPECT_NE(events.find("STATE n/0@2, STATE n/y@2, STATE n/x@3"), std::string::npos) << events;
  EXPECT_EQ(events.find("SYNCED"), std::string::npos) << events;
}

TEST_F(WatchFillTest, ASlotThatIsBehindSoFarThatDeletionsAreForgottenIsReset) {
  const auto subscription = Synced();
  Publish("n/gone");
  EXPECT_EQ(Drain(subscription), "STATE n/gone@1");
  service_[0].objects.clear();
  service_[0].forgotten = 2;
  for (size_t i = 0; i <= WatchHub::kPage; ++i) Publish("n/" + std::to_string(i));
  const std::string events = Drain(subscription);
  EXPECT_TRUE(events.starts_with("RESET 0, STATE n/0@1, STATE n/1@1")) << events;
  EXPECT_TRUE(events.ends_with("STATE n/" + std::to_string(WatchHub::kPage) + "@1, SYNCED")) << events;
}

TEST_F(WatchFillTest, ManySlowWatchersOfManyObjectsHaveAPageEachAndItsMessagesTogether) {
  constexpr size_t kWatchers = 200;
  constexpr int kObjects = 10'000;
  const std::vector<uint32_t> slots = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto publish_all = [&](int64_t version) {
    for (int i = 0; i < kObjects; ++i) {
      Publish("n/" + std::to_string(i), version, static_cast<uint32_t>(i) % static_cast<uint32_t>(slots.size()));
    }
  };
  publish_all(1);
  std::vector<SubscriptionPtr> watchers;
  for (size_t i = 0; i < kWatchers; ++i) {
    watchers.push_back(Subscribe("", "", slots));
    Fill(watchers.back());
  }
  EXPECT_EQ(hub_.waiting(), kWatchers * WatchHub::kPage);
  EXPECT_EQ(live_, static_cast<int>(WatchHub::kPage));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Read(watchers[static_cast<size_t>(i)]).size(), static_cast<size_t>(kObjects));
  publish_all(2);
  EXPECT_LE(hub_.waiting(), kWatchers * WatchHub::kPage);
  EXPECT_LE(live_, 2 * static_cast<int>(WatchHub::kPage)) << "those of the first page, and of the changes";
  const auto seen = Read(watchers[0]);
  EXPECT_EQ(seen.size(), static_cast<size_t>(kObjects));
  for (const auto& [name, version] : seen) EXPECT_EQ(version, (std::pair<int64_t, int>(2, 1))) << name;
}

}  // namespace
}  // namespace basalt::watch
