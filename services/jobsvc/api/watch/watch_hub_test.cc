#include "services/jobsvc/api/watch/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace basalt::jobsvc {
namespace {

using job::v1::WatchPartResponse;

constexpr uint64_t kIncarnation = 7;

job::v1::Job MakeJob(const std::string& key, int64_t version = 1) {
  job::v1::Job job;
  const size_t slash = key.find('/');
  job.mutable_object()->mutable_meta()->set_namespace_(key.substr(0, slash));
  job.mutable_object()->mutable_meta()->set_name(key.substr(slash + 1));
  job.mutable_object()->mutable_meta()->set_resource_version(version);
  return job;
}

class WatchHubTest : public ::testing::Test {
 protected:
  // Of slot 0, as are all jobs here unless it is said.
  void Publish(const std::string& key, int64_t version = 1, uint32_t slot = 0) {
    hub_.Publish(slot, {kIncarnation, ++revision_}, key, [&] { return MakeJob(key, version); });
  }
  void PublishGone(const std::string& key, int64_t version = 1) {
    hub_.PublishGone(0, {kIncarnation, ++revision_}, key, MakeJob(key, version));
  }
  std::shared_ptr<WatchHub::Subscription> Subscribe(const std::string& ns = "", const std::string& name = "") {
    return hub_.Subscribe(ns, name, 1, [this] { ++notified_; });
  }
  void Begin(const std::shared_ptr<WatchHub::Subscription>& subscription, WatchHub::Snapshot snapshot = {},
             uint32_t slot = 0) {
    hub_.Begin(subscription, slot, {}, {kIncarnation, revision_}, false, std::move(snapshot));
  }
  static WatchHub::Shown Shown(const std::string& key, int64_t revision) {
    return {{kIncarnation, revision}, key, false, std::make_shared<job::v1::Job>(MakeJob(key, revision))};
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
    WatchPartResponse response;
    while (hub_.Take(subscription, &response)) {
      if (!text.empty()) text += ", ";
      text += WatchPartResponse::Type_Name(response.type()).substr(5);
      const auto& meta = response.job().object().meta();
      if (response.has_job()) {
        text += " " + meta.namespace_() + "/" + meta.name() + "@" + std::to_string(meta.resource_version());
      }
      for (const uint32_t slot : response.slots()) text += " " + std::to_string(slot);
      if (response.has_position()) position_ = response.position().revision();
      for (const auto& position : response.positions()) position_ = position.revision();
      response.Clear();
    }
    return text;
  }

  WatchHub hub_;
  int notified_ = 0;
  int64_t revision_ = 0;
  int64_t position_ = 0;  // The last that was told.
};

TEST_F(WatchHubTest, ASlowSubscriberGetsTheNewestStateOfEachJobAndIsToldOnce) {
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
  WatchPartResponse response;
  ASSERT_TRUE(hub_.Take(subscription, &response));
  EXPECT_EQ(response.job().object().meta().name(), "b");
  EXPECT_EQ(response.position().revision(), 2);
  response.Clear();
  ASSERT_TRUE(hub_.Take(subscription, &response));
  EXPECT_EQ(response.position().revision(), 3);
}

TEST_F(WatchHubTest, ADeletionReplacesWhatWaitsAndANewJobReplacesTheDeletion) {
  const auto subscription = Synced();
  Publish("n/a", 1);
  PublishGone("n/a", 2);
  EXPECT_EQ(Drain(subscription), "DELETED n/a@2");
  PublishGone("n/a", 2);
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
    return job::v1::Job();
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
  Begin(subscription, {{Shown("n/a", 1), Shown("n/b", 2)}, {}});
  Publish("n/a", 5);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/a@5") << "another worker has not told of its slots yet";
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "SYNCED");
  EXPECT_EQ(position_, revision_);
}

TEST_F(WatchHubTest, SyncedWaitsForWhatTheSnapshotHadAlsoIfItHasChangedSince) {
  const auto subscription = Subscribe();
  Begin(subscription, {{Shown("n/a", 1), Shown("n/b", 2)}, {}});
  hub_.PartDone(subscription);
  Publish("n/c", 3);
  Publish("n/a", 4);
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/c@3, STATE n/a@4, SYNCED");
}

TEST_F(WatchHubTest, SyncedWaitsForJobsThatAreThereAndNotShownYet) {
  const auto subscription = Subscribe();
  Begin(subscription, {{Shown("n/a", 1)}, {"n/b", "n/c", "n/d"}});
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "STATE n/a@1");
  Publish("n/b", 2);
  Publish("n/new", 3);  // It came later: nothing waits for it.
  EXPECT_EQ(Drain(subscription), "STATE n/b@2, STATE n/new@3");
  notified_ = 0;
  hub_.PublishUnseen(0, "n/c");
  EXPECT_EQ(notified_, 1) << "it may be over by that";
  EXPECT_EQ(Drain(subscription), "");
  Publish("n/d", 4);
  PublishGone("n/d", 5);
  EXPECT_EQ(Drain(subscription), "DELETED n/d@5, SYNCED");
}

TEST_F(WatchHubTest, NobodyWaitsForJobsOfASlotThatMovesAway) {
  const auto subscription = Subscribe();
  Begin(subscription, {{}, {"n/a"}}, 0);
  Begin(subscription, {{}, {"n/b"}}, 1);
  hub_.PartDone(subscription);
  hub_.Close(0);
  EXPECT_EQ(Drain(subscription), "MOVED 0");
  hub_.PublishUnseen(1, "n/b");
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
  hub_.Begin(subscription, 5, {}, {kIncarnation, 1}, true, {{Shown("n/a", 1)}, {}});
  hub_.PartDone(subscription);
  EXPECT_EQ(Drain(subscription), "RESET 5, STATE n/a@1, SYNCED");
}

TEST_F(WatchHubTest, NothingComesAfterUnsubscribe) {
  const auto subscription = Synced();
  hub_.Unsubscribe(subscription);
  Publish("n/a");
  Begin(subscription, {{Shown("n/a", 1)}, {}});
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
        hub_.Publish(static_cast<uint32_t>(p), {kIncarnation, i}, key, [&] { return MakeJob(key, i); });
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
      WatchPartResponse response;
      bool last = false;
      while (true) {
        while (hub_.Take(subscription, &response)) {
          const auto& meta = response.job().object().meta();
          int64_t& version = mine[meta.name()];
          EXPECT_GT(meta.resource_version(), version) << "never older";
          EXPECT_EQ(meta.resource_version(), response.position().revision());
          version = meta.resource_version();
          response.Clear();
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
}  // namespace basalt::jobsvc
