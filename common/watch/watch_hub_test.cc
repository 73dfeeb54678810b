#include "common/watch/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::watch {
namespace {

using kube::v1::ObjectMeta;

constexpr uint64_t kIncarnation = 7;

// What a service would tell of its objects.
WatchHub::Message MakeMessage(const std::string& key, int64_t version = 1) {
  auto meta = std::make_shared<ObjectMeta>();
  const size_t slash = key.find('/');
  meta->set_namespace_(key.substr(0, slash));
  meta->set_name(key.substr(slash + 1));
  meta->set_resource_version(version);
  return meta;
}

const ObjectMeta& MetaOf(const WatchEvent& event) { return static_cast<const ObjectMeta&>(*event.published->message); }

constexpr std::string_view kNames[] = {"STATE", "DELETED", "SYNCED", "RESET", "PROGRESS", "MOVED"};

class WatchHubTest : public ::testing::Test {
 protected:
  // Of slot 0, as are all objects here unless it is said.
  void Publish(const std::string& key, int64_t version = 1, uint32_t slot = 0) {
    hub_.Publish(slot, {kIncarnation, ++revision_}, key, [&] { return MakeMessage(key, version); });
  }
  void PublishDeleted(const std::string& key, int64_t version = 1) {
    hub_.PublishDeleted(0, {kIncarnation, ++revision_}, key, [&] { return MakeMessage(key, version); });
  }
  std::shared_ptr<WatchHub::Subscription> Subscribe(const std::string& ns = "", const std::string& name = "") {
    return hub_.Subscribe(ns, name, 1, [this] { ++notified_; });
  }
  void Begin(const std::shared_ptr<WatchHub::Subscription>& subscription, WatchHub::Snapshot snapshot = {},
             uint32_t slot = 0) {
    hub_.Begin(subscription, slot, {}, {kIncarnation, revision_}, false, std::move(snapshot));
  }
  static Published State(const std::string& key, int64_t revision) {
    return {0, {kIncarnation, revision}, key, false, MakeMessage(key, revision)};
  }
  // A subscription that has had its (empty) snapshot.
  std::shared_ptr<WatchHub::Subscription> Synced(const std::string& ns = "", const std::string& name = "") {
    auto subscription = Subscribe(ns, name);
    Begin(subscription);
    hub_.PartDone(subscription);
    EXPECT_EQ(Drain(subscription), "SYNCED");
    notified_ = 0;
    return subscription;
  }
  // Everything that waits, as "STATE ns/name@version"; joined by ", ".
  std::string Drain(const std::shared_ptr<WatchHub::Subscription>& subscription) {
    std::string text;
    while (const auto event = hub_.Take(subscription)) {
      if (!text.empty()) text += ", ";
      text += kNames[static_cast<size_t>(event->type)];
      if (event->published != nullptr) {
        const ObjectMeta& meta = MetaOf(*event);
        text += " " + meta.namespace_() + "/" + meta.name() + "@" + std::to_string(meta.resource_version());
        position_ = event->published->position.revision;
      }
      for (const uint32_t slot : event->slots) text += " " + std::to_string(slot);
      for (const auto& [slot, position] : event->positions) position_ = position.revision;
    }
    return text;
  }

  WatchHub hub_;
  int notified_ = 0;
  int64_t revision_ = 0;
  int64_t position_ = 0;  // The last that was told.
};

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
  Publish("n/a", 1);  // Revision 1.
  Publish("n/b", 2);
  Publish("n/a", 3);  // The newest of a is behind b now.
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
  bool made = false;
  hub_.Publish(0, {kIncarnation, ++revision_}, "other/x", [&] {
    made = true;
    return MakeMessage("other/x");
  });
  EXPECT_FALSE(made);
}

TEST_F(WatchHubTest, WhatIsNotWantedIsProgressAllTheSame) {
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

TEST_F(WatchHubTest, TheSnapshotEndsWithSyncedAndNeverOverwritesWhatIsNewer) {
  const auto subscription = Subscribe();
  Publish("n/a", 3);
  Publish("n/b", 4);
  EXPECT_EQ(Drain(subscription), "") << "nothing of a slot before its snapshot";
  Begin(subscription, {{State("n/a", 1), State("n/b", 2)}, {}});
  Publish("n/a", 5);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/a@5") << "another worker has not told of its slots yet";
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "SYNCED");
  EXPECT_EQ(position_, revision_);
}

TEST_F(WatchHubTest, SyncedWaitsForWhatTheSnapshotHadAlsoIfItHasChangedSince) {
  const auto subscription = Subscribe();
  Begin(subscription, {{State("n/a", 1), State("n/b", 2)}, {}});
  hub_.PartDone(subscription);
  Publish("n/c", 3);
  Publish("n/a", 4);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/c@3, STATE n/a@4, SYNCED");
}

TEST_F(WatchHubTest, SyncedWaitsForObjectsThatAreThereAndNotPublishedYet) {
  const auto subscription = Subscribe();
  Begin(subscription, {{State("n/a", 1)}, {"n/b", "n/c", "n/d"}});
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "STATE n/a@1");
  Publish("n/b", 2);
  Publish("n/new", 3);  // It came later: nothing waits for it.
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/new@3");
  notified_ = 0;
  hub_.DropUnpublished(0, "n/c");
  EXPECT_EQ(notified_, 1) << "it may be over by that";
  EXPECT_EQ(Drain(subscription), "");
  Publish("n/d", 4);
  PublishDeleted("n/d", 5);
  EXPECT_EQ(Drain(subscription), "DELETED n/d@5, SYNCED");
}

TEST_F(WatchHubTest, NobodyWaitsForObjectsOfASlotThatMovesAway) {
  const auto subscription = Subscribe();
  Begin(subscription, {{}, {"n/a"}}, 0);
  Begin(subscription, {{}, {"n/b"}}, 1);
  hub_.PartDone(subscription);
  hub_.Close(0);
  EXPECT_EQ(Drain(subscription), "MOVED 0");
  hub_.DropUnpublished(1, "n/b");
  EXPECT_EQ(Drain(subscription), "SYNCED");
}

TEST_F(WatchHubTest, ASlotThatMovesAwayIsToldAndNothingMoreComesOfIt) {
  const auto subscription = Subscribe();
  Begin(subscription, {}, 0);
  Begin(subscription, {}, 1);
  hub_.Refuse(subscription, 2);
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "MOVED 2, SYNCED");
  Publish("n/a", 1, 0);
  Publish("n/b", 2, 1);
  hub_.Close(0);
  Publish("n/a", 3, 0);
  EXPECT_EQ(Drain(subscription), "MOVED 0, STATE n/b@2");
}

TEST_F(WatchHubTest, AResetComesBeforeTheSnapshot) {
  const auto subscription = Subscribe();
  hub_.Begin(subscription, 5, {}, {kIncarnation, 1}, true, {{State("n/a", 1)}, {}});
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "RESET 5, STATE n/a@1, SYNCED");
}

TEST_F(WatchHubTest, NothingComesAfterUnsubscribe) {
  const auto subscription = Synced();
  hub_.Unsubscribe(subscription);
  Publish("n/a");
  Begin(subscription, {{State("n/a", 1)}, {}});
  EXPECT_EQ(notified_, 0);
  EXPECT_EQ(Drain(subscription), "");
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
      const auto subscription = hub_.Subscribe("n", "", 1, [] {});
      for (uint32_t slot = 0; slot < kPublishers; ++slot) {
        hub_.Begin(subscription, slot, {}, {}, false, {});
      }
      bool last = false;
      while (true) {
        while (const auto event = hub_.Take(subscription)) {
          ASSERT_NE(event->published, nullptr);
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
