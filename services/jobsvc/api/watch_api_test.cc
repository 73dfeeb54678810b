// The messages of a watch of jobs, over restarts and cut connections.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "services/jobsvc/api/job_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::WatchJobsResponse;

TEST_F(JobApiTest, AWatchEndsWhenNobodyAnswersForASlotForLong) {
  rigs_[1].ready = false;
  const auto watch = Watch({});
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Drain(*watch), "");
    watch->Tick();
    Run();
  }
  ASSERT_TRUE(watch->End().has_value());
  EXPECT_EQ(watch->End()->code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(ToStd(watch->End()->message()).find("jobsvc-0"), std::string_view::npos) << *watch->End();
}

TEST_F(JobApiTest, AWatchBeginsWithWhatThereIsAndGoesOnWithWhatChanges) {
  Put("a");
  Put("b");
  Run();
  const auto watch = Watch({});
  const std::string start = Drain(*watch);
  EXPECT_TRUE(start == "STATE a, STATE b, SYNCED" || start == "STATE b, STATE a, SYNCED") << start;
  Put("c");
  Run();
  EXPECT_EQ(Drain(*watch), "STATE c");
  RigOf("a").kube().DeleteJob("default/a");
  Run();
  EXPECT_EQ(Drain(*watch), "DELETED a");
  Run(absl::Seconds(30));  // Counts are written late.
  Drain(*watch);
  Run(absl::Minutes(5));
  EXPECT_EQ(Drain(*watch), "") << "nothing changes that people would see";
}

// A job that is there, and over which no pass has run.
class UnreconciledJobTest : public JobApiTest {
 protected:
  void Observe(const std::string& name) {
    kube::v1::Object object;
    *object.mutable_job() = MakeJob(name, 1, 2);
    RigOf(name).controller().OnState("default/" + name, std::string(kube::kWatchJobs), std::move(object));
  }
  void RunPass(const std::string& name) {
    RigOf(name).controller().context().Wake("default/" + name);
    Run();
  }
};

TEST_F(UnreconciledJobTest, SyncedWaitsForItsFirstPass) {
  Put("b");
  Run();
  Observe("a");
  const auto watch = Watch({});
  EXPECT_EQ(Drain(*watch), "STATE b") << "were it deleted before its pass, nobody would hear of that";
  RunPass("a");
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
}

// The job is not gone. A client that takes every job that was not published before SYNCED for deleted would do so for
// each job of a lost disk.
TEST_F(UnreconciledJobTest, SyncedAfterAResetWaitsForItsFirstPass) {
  Observe("a");
  job::v1::WatchJobsRequest request;
  request.set_token("another.1");
  const auto watch = Watch(request);
  EXPECT_EQ(Drain(*watch), "RESET");
  RunPass("a");
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
}

TEST_F(UnreconciledJobTest, SyncedWaitsNoLongerForOneThatGoesBeforeItsFirstPass) {
  Observe("a");
  const auto watch = Watch({});
  EXPECT_EQ(Drain(*watch), "");
  const kube::v1::Job job = MakeJob("a", 1, 2);
  RigOf("a").controller().OnGone(
      "default/a",
      {.reason = runtime::Gone::Reason::kDeleted, .watch = std::string(kube::kWatchJobs), .uid = job.meta().uid()});
  RunPass("a");
  EXPECT_EQ(Drain(*watch), "SYNCED");
}

TEST_F(UnreconciledJobTest, NobodyElseWaitsForIt) {
  Put("b");
  Run();
  Observe("a");
  job::v1::WatchJobsRequest request;
  request.set_name("b");
  EXPECT_EQ(Drain(*Watch(request)), "STATE b, SYNCED");
}

TEST_F(JobApiTest, NoMoreThanAPageWaitsForASlowWatcherOfManyJobs) {
  constexpr int kJobs = 500;
  std::set<std::string> names;
  for (int i = 0; i < kJobs; ++i) {
    names.insert("j" + std::to_string(i));
    Put("j" + std::to_string(i), 1);
  }
  Run();
  const auto watch = Watch({});
  EXPECT_EQ(hub_->waiting(), watch::WatchHub::kPage);
  for (JobRig& rig : rigs_) rig.kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
  RigOf("j0").kube().DeleteJob("default/j0");
  Run(absl::Seconds(10));
  EXPECT_LE(hub_->waiting(), watch::WatchHub::kPage);
  const std::string messages = Drain(*watch);
  EXPECT_TRUE(messages.ends_with("SYNCED")) << messages;
  names.erase("j0");
  for (const std::string& name : names) EXPECT_NE(messages.find("STATE " + name + ","), std::string::npos) << name;
}

TEST_F(JobApiTest, AWatchOverTheBoundIsRefusedWithItsFlagAndTheReplica) {
  std::vector<std::unique_ptr<rpc::Feed<job::v1::WatchPartResponse>>> parts;
  for (size_t i = 0; i < watch::WatchHub::kMaxWatches; ++i) parts.push_back(api_.WatchPart({}, [] {}));
  const auto refused = Watch({});
  EXPECT_EQ(Drain(*refused), "");
  ASSERT_TRUE(refused->End().has_value());
  EXPECT_EQ(refused->End()->code(), absl::StatusCode::kResourceExhausted);
  for (const std::string_view words : {"jobsvc-0", "1000 watches", "--max_watches"}) {
    EXPECT_NE(ToStd(refused->End()->message()).find(words), std::string_view::npos) << *refused->End();
  }
  parts.pop_back();
  EXPECT_EQ(Drain(*Watch({})), "SYNCED");
}

TEST_F(JobApiTest, AResumedWatchTellsOnlyWhatHappenedMeanwhile) {
  Put("a");
  Put("b");
  Put("c");
  Run(absl::Seconds(10));
  Drain(*Watch({}));
  RigOf("a").kube().DeleteJob("default/a");
  RigOf("b").kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
  Run(absl::Seconds(5));
  job::v1::WatchJobsRequest request;
  request.set_token(reader_.token);
  request.set_name("b");
  EXPECT_EQ(Drain(*Watch(request)), "STATE b, SYNCED");
  request.set_name("a");
  EXPECT_EQ(Drain(*Watch(request)), "DELETED a, SYNCED");
  request.set_namespace_("default");
  EXPECT_EQ(Drain(*Watch(request)), "DELETED a, SYNCED") << "asked of its owner alone";
  request.clear_namespace_();
  request.set_name("");
  request.set_token("another.1");
  const std::string reset = Drain(*Watch(request));
  EXPECT_TRUE(reset == "RESET, STATE b, STATE c, SYNCED" || reset == "RESET, STATE c, STATE b, SYNCED") << reset;
}

TEST_F(JobApiTest, ATokenOutlivesTheProcessButNotItsDisk) {
  Put("a");
  Put("b");
  Put("gone");
  Run(absl::Seconds(30));
  Drain(*Watch({}));
  Restart();
  job::v1::WatchJobsRequest request;
  request.set_token(reader_.token);
  EXPECT_EQ(Drain(*Watch(request)), "SYNCED") << "nothing that was told is told again";
  for (JobRig& rig : rigs_) rig.Kill();
  RigOf("gone").kube().DeleteJob("default/gone");
  Restart();
  Put("c");
  Run();
  const std::string missed = Drain(*Watch(request));
  EXPECT_NE(missed.find("DELETED gone"), std::string::npos) << missed;
  EXPECT_NE(missed.find("STATE c"), std::string::npos) << missed;
  EXPECT_EQ(missed.find("RESET"), std::string::npos) << missed;
  EXPECT_EQ(missed.find("STATE a"), std::string::npos) << missed;

  Restart(/*lose_disk=*/true);
  const std::string lost = Drain(*Watch(request));
  EXPECT_TRUE(lost.starts_with("RESET")) << lost;
  for (const std::string name : {"a", "b", "c"}) EXPECT_NE(lost.find("STATE " + name), std::string::npos) << lost;
  EXPECT_EQ(lost.find("gone"), std::string::npos) << lost;
}

// A client that resumes learns in this way which of the jobs are gone.
TEST_F(JobApiTest, StatesAfterTheTokenAreSentAgainWhereTheJobIsThere) {
  for (char c = 'a'; c <= 'h'; ++c) Put(std::string(1, c));
  Run(absl::Seconds(10));
  const auto watch = Watch({});
  WatchJobsResponse response;
  job::v1::WatchJobsRequest request;
  std::set<std::string> after;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(watch->Take(&response));
    ASSERT_EQ(response.type(), WatchJobsResponse::TYPE_STATE);
    after.insert(response.job().object().meta().name());
    if (!response.token().empty()) {
      request.set_token(response.token());
      after.clear();
    }
    response.Clear();
  }
  ASSERT_GT(after.size(), 1u);
  const std::string gone = *after.begin();
  RigOf(gone).kube().DeleteJob("default/" + gone);
  Run();
  const std::string again = Drain(*Watch(request));
  EXPECT_TRUE(again.ends_with("SYNCED")) << again;
  for (const std::string& name : after) {
    EXPECT_EQ(again.find("STATE " + name) != std::string::npos, name != gone) << again;
  }
}

TEST_F(JobApiTest, AResetIsOfTheSlotsThatAreNotKnownAlone) {
  Put("a");
  Put("b");
  Put("c");
  Put("d");
  Run(absl::Seconds(30));
  Drain(*Watch({}));
  rigs_[0].Kill();
  rigs_[0].LoseDisk();
  rigs_[0].Start();
  Run();
  job::v1::WatchJobsRequest request;
  request.set_token(reader_.token);
  const auto watch = Watch(request);
  WatchJobsResponse response;
  std::set<uint32_t> reset;
  while (watch->Take(&response)) {
    for (const uint32_t slot : response.slots()) reset.insert(slot);
    if (response.has_job()) {
      EXPECT_TRUE(reset.contains(response.slot())) << response.job().object().meta().name();
    }
    response.Clear();
  }
  std::set<uint32_t> expected;
  for (const std::string name : {"a", "b", "c", "d"}) {
    if (const uint32_t slot = SlotOf("default/" + name); slot % 2 == 0) expected.insert(slot);
  }
  EXPECT_EQ(reset, expected);
}

TEST_F(JobApiTest, AWatchThatIsCutOffAnywhereMissesNothing) {
  for (char c = 'a'; c <= 'h'; ++c) Put(std::string(1, c), 3);
  Run(absl::Seconds(10));
  std::map<std::string, int64_t> seen;  // Name -> resourceVersion.
  std::string token;
  for (int taken = 0; taken < 60; ++taken) {
    // Each life of the client reads some messages, then the stream breaks.
    job::v1::WatchJobsRequest request;
    request.set_namespace_("default");
    request.set_token(token);
    const auto watch = Watch(request);
    WatchJobsResponse response;
    std::map<std::string, int64_t> since_token;
    for (int i = 0; i < 1 + taken % 5 && watch->Take(&response); ++i) {
      ASSERT_NE(response.type(), WatchJobsResponse::TYPE_RESET);
      const auto& meta = response.job().object().meta();
      if (response.type() == WatchJobsResponse::TYPE_STATE) {
        EXPECT_GE(meta.resource_version(), seen[meta.name()]) << "never older";
        seen[meta.name()] = meta.resource_version();
      }
      if (!response.token().empty()) token = response.token();
      response.Clear();
    }
    RigOf(std::string(1, static_cast<char>('a' + taken % 8)))
        .kube()
        .SetAllPods(taken % 2 == 0 ? kube::v1::POD_PHASE_RUNNING : kube::v1::POD_PHASE_PENDING);
    if (taken % 7 == 3) Restart();
    Run(absl::Seconds(7));
  }
  Run(absl::Seconds(30));
  job::v1::WatchJobsRequest request;
  request.set_namespace_("default");
  request.set_token(token);
  const auto watch = Watch(request);
  WatchJobsResponse response;
  while (watch->Take(&response)) {
    if (response.has_job()) {
      seen[response.job().object().meta().name()] = response.job().object().meta().resource_version();
    }
    response.Clear();
  }
  EXPECT_EQ(seen.size(), 8u);
  for (const auto& [name, version] : seen) EXPECT_EQ(version, Get(name)->object().meta().resource_version()) << name;
}

}  // namespace
}  // namespace basalt::jobsvc::testing
