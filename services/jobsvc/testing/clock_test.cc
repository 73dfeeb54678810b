// The API server's clock is set by an hour or a day: waiting continues as before, and nothing happens twice.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

struct Jump {
  std::string name;
  absl::Duration before;  // How far the API server's clock is ahead at first.
  absl::Duration after;   // How far it is ahead after the jump.
  friend std::ostream& operator<<(std::ostream& out, const Jump& jump) { return out << jump.name; }
};

class ClockTest : public JobTest, public ::testing::WithParamInterface<Jump> {
 protected:
  void SetUp() override {
    rig().SetApiClock(GetParam().before);
    rig().Start();
  }
  void SetClock() { rig().SetApiClock(GetParam().after); }
  bool IsSetBack() const { return GetParam().after < GetParam().before; }
  absl::Duration SetBackBy() const { return IsSetBack() ? GetParam().before - GetParam().after : absl::ZeroDuration(); }
  void BeginRunning(kube::v1::Job job) {
    kube().PutJob(std::move(job));
    rig().Run();
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(20));
    ASSERT_EQ(Phase(), kRunning);
  }
};

TEST_P(ClockTest, AJobRunsToItsEndAndNothingIsDoneTwice) {
  kube().PutJob(MakeJob("j", 1, 4));
  rig().Run();
  SetClock();
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kRunning);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_EQ(kube().Count("create", "pods"), 4);
  EXPECT_EQ(kube().Count("delete", "pods"), 0);
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(History().size(), 3u);
}

TEST_P(ClockTest, CountsAreWrittenAsSoonAsEver) {
  BeginRunning(MakeJob("j", 1, 4));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run(absl::Seconds(1));
  SetClock();
  rig().Run(absl::Seconds(9));
  EXPECT_EQ(Status().counts().succeeded(), 1);
  kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().counts().succeeded(), 2);
}

TEST_P(ClockTest, ARefusedWriteIsTriedAgainAsSoonAsEver) {
  for (const std::string plural : {"pods", "jobs"}) {
    SCOPED_TRACE(plural);
    bool refuse = true;
    kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!refuse || request.resource().plural() != plural) return false;
      error.set_code(403);
      error.set_message("exceeded quota");
      return true;
    });
    kube().PutJob(MakeJob("j", 1, 2));
    rig().Run(absl::Minutes(2));
    ASSERT_TRUE(kube().pods().empty());
    SetClock();
    refuse = false;
    rig().Run(absl::Minutes(1));
    EXPECT_EQ(kube().pods().size(), 2u);
    EXPECT_EQ(Status().reason(), "");
    kube().SetRefuse(nullptr);
    kube().DeleteJob("default/j");
    rig().Run(absl::Minutes(1));
    rig().SetApiClock(GetParam().before);
  }
}

// A deadline depends on its fact and on the API server's clock: a clock that is set forward reaches it at once.
TEST_P(ClockTest, ADeadlineIsKeptOnceByTheClockAsItIs) {
  for (const char* event : {"PodFailed", "PodEvicted"}) {
    SCOPED_TRACE(event);
    BeginRunning(WithPolicy(MakeJob("j", 1, 2), event, "AbortJob", absl::Minutes(10)));
    if (event == std::string("PodFailed")) {
      kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
    } else {
      kube().RemovePod("default/j-t0-0");
    }
    rig().Run(absl::Minutes(2));
    ASSERT_EQ(Status().version(), 0);
    SetClock();
    rig().Run(absl::Minutes(7) + SetBackBy());
    EXPECT_EQ(Status().version(), IsSetBack() ? 0 : 1);
    rig().Run(absl::Minutes(15));
    EXPECT_EQ(Status().version(), 1) << "once";
    EXPECT_EQ(Phase(), kAborted);
    kube().DeleteJob("default/j");
    rig().Run(absl::Minutes(1));
    rig().SetApiClock(GetParam().before);
  }
}

TEST_P(ClockTest, ADeadlineIsKeptOnceByAProcessThatStartsMeanwhile) {
  for (const bool lose_disk : {false, true}) {
    SCOPED_TRACE(lose_disk);
    BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "AbortJob", absl::Minutes(10)));
    kube().RemovePod("default/j-t0-0");
    rig().Run(absl::Minutes(2));
    rig().Kill();
    if (lose_disk) rig().LoseDisk();
    SetClock();
    rig().Start();
    rig().Run(absl::Minutes(20) + SetBackBy());
    EXPECT_EQ(Status().version(), 1) << "once";
    EXPECT_EQ(Phase(), kAborted);
    kube().DeleteJob("default/j");
    rig().Run(absl::Minutes(1));
    rig().SetApiClock(GetParam().before);
  }
}

// The API server's own controller does the same: the time at which the job ended decides.
TEST_P(ClockTest, AFinishedJobIsDeletedByTheClockAsItIs) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  job.mutable_spec()->set_ttl_seconds_after_finished(600);
  BeginRunning(std::move(job));
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kCompleted);
  SetClock();
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(kube().jobs().size(), IsSetBack() ? 1u : 0u);
  rig().Run(absl::Minutes(6) + SetBackBy());
  EXPECT_TRUE(kube().jobs().empty());
  EXPECT_EQ(kube().Count("delete", "jobs"), 1);
}

TEST_P(ClockTest, HistoryOfAJobThatIsGoneStays) {
  BeginRunning(MakeJob("j", 1, 1));
  const std::string uid = kube().job("default/j").meta().uid();
  kube().DeleteJob("default/j");
  rig().Run(absl::Minutes(1));
  SetClock();
  rig().Run(absl::Hours(5));
  EXPECT_FALSE(HistoryStore(rig().store()).Read(SlotOf("default/j"), uid)->empty());
}

INSTANTIATE_TEST_SUITE_P(Jumps, ClockTest,
                         ::testing::Values(Jump{"AnHourForward", absl::ZeroDuration(), absl::Hours(1)},
                                           Jump{"ADayForward", absl::ZeroDuration(), absl::Hours(24)},
                                           Jump{"AnHourBack", absl::Hours(1), absl::ZeroDuration()},
                                           Jump{"ADayBack", absl::Hours(24), absl::ZeroDuration()}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace basalt::jobsvc::testing
