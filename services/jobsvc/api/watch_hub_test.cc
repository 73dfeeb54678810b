#include "services/jobsvc/api/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace basalt::jobsvc {
namespace {

using job::v1::WatchJobsResponse;

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
  void Publish(const std::string& key, int64_t version = 1) {
    hub_.Publish(key, [&] { return MakeJob(key, version); });
  }
  std::shared_ptr<WatchHub::Subscription> Subscribe(const std::string& ns = "", const std::string& name = "",
                                                    const std::string& token = "") {
    return hub_.Subscribe(
        ns, name, token, [this] { ++notified_; }, &since_);
  }
  // A subscription that has had its (empty) snapshot; the token of it is in `token_`.
  std::shared_ptr<WatchHub::Subscription> Synced(const std::string& ns = "", const std::string& name = "") {
    auto subscription = Subscribe(ns, name);
    hub_.SnapshotDone(subscription, absl::OkStatus());
    EXPECT_EQ(Drain(subscription), "SYNCED");
    notified_ = 0;
    return subscription;
  }
  // Everything that waits, as "STATE ns/name@version"; joined by ", ".
  std::string Drain(const std::shared_ptr<WatchHub::Subscription>& subscription) {
    std::string text;
    WatchJobsResponse response;
    while (hub_.Take(subscription, &response)) {
      if (!text.empty()) text += ", ";
      text += WatchJobsResponse::Type_Name(response.type()).substr(5);
      const auto& meta = response.job().object().meta();
      if (response.has_job()) {
        text += " " + meta.namespace_() + "/" + meta.name() + "@" + std::to_string(meta.resource_version());
      }
      if (!response.token().empty()) token_ = response.token();
      last_token_ = response.token();
      response.Clear();
    }
    return text;
  }

  WatchHub hub_{"inc"};
  int notified_ = 0;
  int64_t since_ = 0;
  std::string token_;
  std::string last_token_;
};

TEST_F(WatchHubTest, ASlowSubscriberGetsTheNewestStateOfEachJobAndIsToldOnce) {
  const auto subscription = Synced();
  for (int i = 1; i <= 100; ++i) Publish("n/a", i);
  Publish("n/b", 7);
  EXPECT_EQ(notified_, 1) << "once until it was taken";
  EXPECT_EQ(Drain(subscription), "STATE n/a@100, STATE n/b@7");
  Publish("n/a", 101);
  EXPECT_EQ(notified_, 2);
  EXPECT_EQ(Drain(subscription), "STATE n/a@101");
}

TEST_F(WatchHubTest, ADeletionReplacesWhatWaitsAndANewJobReplacesTheDeletion) {
  const auto subscription = Synced();
  Publish("n/a", 1);
  hub_.PublishGone("n/a", MakeJob("n/a", 2));
  EXPECT_EQ(Drain(subscription), "DELETED n/a@2");
  hub_.PublishGone("n/a", MakeJob("n/a", 2));
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
  EXPECT_EQ(Drain(space), "STATE n/a@1, STATE n/ab@1");
  bool made = false;
  hub_.Publish("other/x", [&] {
    made = true;
    return job::v1::Job();
  });
  EXPECT_FALSE(made);
}

TEST_F(WatchHubTest, TheSnapshotEndsWithSyncedAndNeverOverwritesWhatIsNewer) {
  const auto subscription = Subscribe();
  EXPECT_EQ(since_, -1);
  Publish("n/a", 5);
  hub_.Offer(subscription, "n/a", MakeJob("n/a", 4));
  hub_.Offer(subscription, "n/b", MakeJob("n/b", 1));
  EXPECT_EQ(Drain(subscription), "STATE n/a@5, STATE n/b@1");
  EXPECT_EQ(token_, "") << "a resume from the middle of a snapshot would miss its rest";
  hub_.SnapshotDone(subscription, absl::OkStatus());
  EXPECT_EQ(Drain(subscription), "SYNCED");
  EXPECT_NE(token_, "");
}

TEST_F(WatchHubTest, ATokenStandsOnlyAtTheEndOfARun) {
  const auto subscription = Synced();
  Publish("n/a");
  Publish("n/b");
  WatchJobsResponse response;
  ASSERT_TRUE(hub_.Take(subscription, &response));
  EXPECT_EQ(response.token(), "");
  ASSERT_TRUE(hub_.Take(subscription, &response));
  EXPECT_NE(response.token(), "");
}

TEST_F(WatchHubTest, AResumeTellsOfDeletionsMeanwhileAndAsksForTheRest) {
  Drain(Synced());
  const std::string token = token_;
  const int64_t revision = std::stoll(token.substr(4));
  Publish("n/a", 1);
  hub_.PublishGone("n/b", MakeJob("n/b", 2));
  const auto subscription = Subscribe("", "", token);
  EXPECT_EQ(since_, revision);
  EXPECT_EQ(Drain(subscription), "DELETED n/b@2") << "states come as an offer";
  // The job is there again: the offer is newer than the deletion of the one before.
  hub_.PublishGone("n/c", MakeJob("n/c", 3));
  const auto other = Subscribe("", "", token);
  hub_.Offer(other, "n/c", MakeJob("n/c", 4));
  EXPECT_EQ(Drain(other), "DELETED n/b@2, STATE n/c@4");
}

TEST_F(WatchHubTest, ATokenThatIsNotKnownIsAnsweredByAReset) {
  Synced();
  for (const std::string& token :
       {std::string("other.1"), std::string("inc"), std::string("inc."), std::string("inc.x"), std::string("inc.-1"),
        std::string("inc.999999"), std::string("."), std::string(100'000, '9')}) {
    const auto subscription = Subscribe("", "", token);
    EXPECT_EQ(since_, -1) << token.substr(0, 20);
    EXPECT_EQ(Drain(subscription), "RESET") << token.substr(0, 20);
  }
}

TEST_F(WatchHubTest, ATokenFromWhichDeletionsHaveBeenForgottenIsAnsweredByAReset) {
  Synced();
  const std::string old = token_;
  for (int i = 0; i < 4096; ++i) hub_.PublishGone("n/" + std::to_string(i), MakeJob("n/x"));
  Drain(Subscribe("", "", old));
  EXPECT_NE(since_, -1) << "all are remembered still";
  hub_.PublishGone("n/last", MakeJob("n/last"));
  EXPECT_EQ(Drain(Subscribe("", "", old)), "RESET");
}

TEST_F(WatchHubTest, WhoHasLeftIsToldNothing) {
  const auto subscription = Synced();
  hub_.Unsubscribe(subscription);
  Publish("n/a");
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
        hub_.Publish(key, [&] { return MakeJob(key, i); });
      }
      --running;
    });
  }
  std::vector<std::map<std::string, int64_t>> seen(2);
  for (auto& mine : seen) {
    threads.emplace_back([&] {
      int64_t since = 0;
      const auto subscription = hub_.Subscribe(
          "n", "", "", [] {}, &since);
      WatchJobsResponse response;
      bool last = false;
      while (true) {
        while (hub_.Take(subscription, &response)) {
          const auto& meta = response.job().object().meta();
          int64_t& version = mine[meta.name()];
          EXPECT_GT(meta.resource_version(), version) << "never older";
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
}  // namespace basalt::jobsvc
