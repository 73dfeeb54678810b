// The API server's clock is set by an hour or a day: waiting continues as before, and nothing happens twice.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

struct Jump {
  std::string name;
  absl::Duration before;  // How far the API server's clock is ahead at first.
  absl::Duration after;   // How far it is ahead after the jump.
  friend std::ostream& operator<<(std::ostream& out, const Jump& jump) { return out << jump.name; }
};

class ClockTest : public ::testing::TestWithParam<Jump> {
 protected:
  void SetUp() override {
    rig_.SetApiClock(GetParam().before);
    rig_.Start();
  }
  void SetClock() { rig_.SetApiClock(GetParam().after); }
  bool IsSetBack() const { return GetParam().after < GetParam().before; }
  absl::Duration SetBackBy() const { return IsSetBack() ? GetParam().before - GetParam().after : absl::ZeroDuration(); }
  void BeginRunning(kube::v1::Job job) {
    rig_.kube().PutJob(std::move(job));
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  const kube::v1::JobStatus& Status() { return rig_.kube().job("default/j").status(); }

  JobRig rig_;
};

TEST_P(ClockTest, AJobRunsToItsEndAndNothingIsDoneTwice) {
  rig_.kube().PutJob(MakeJob("j", 1, 4));
  rig_.Run();
  SetClock();
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Seconds(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  rig_.kube().SetAllPods(kPodSucceeded);
  rig_.Run(absl::Seconds(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kCompleted);
  EXPECT_EQ(rig_.kube().Count("create", "pods"), 4);
  EXPECT_EQ(rig_.kube().Count("delete", "pods"), 0);
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(HistoryStore(rig_.store()).Read(SlotOf("default/j"), rig_.kube().job("default/j").meta().uid())->size(),
            3u);
}

TEST_P(ClockTest, CountsAreWrittenAsSoonAsEver) {
  BeginRunning(MakeJob("j", 1, 4));
  rig_.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig_.Run(absl::Seconds(1));
  SetClock();
  rig_.Run(absl::Seconds(9));
  EXPECT_EQ(Status().counts().succeeded(), 1);
  rig_.kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(Status().counts().succeeded(), 2);
}

TEST_P(ClockTest, WhatIsRefusedIsTriedAgainAsSoonAsEver) {
  for (const std::string plural : {"pods", "jobs"}) {
    SCOPED_TRACE(plural);
    bool refuse = true;
    rig_.kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!refuse || request.resource().plural() != plural) return false;
      error.set_code(403);
      error.set_message("exceeded quota");
      return true;
    });
    rig_.kube().PutJob(MakeJob("j", 1, 2));
    rig_.Run(absl::Minutes(2));
    ASSERT_TRUE(rig_.kube().pods().empty());
    SetClock();
    refuse = false;
    rig_.Run(absl::Minutes(1));
    EXPECT_EQ(rig_.kube().pods().size(), 2u);
    EXPECT_EQ(Status().reason(), "");
    rig_.kube().SetRefuse(nullptr);
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Minutes(1));
    rig_.SetApiClock(GetParam().before);
  }
}

// A deadline depends on its fact and on the API server's clock: a clock that is set forward reaches it at once.
TEST_P(ClockTest, ADeadlineIsKeptOnceByTheClockAsItIs) {
  for (const char* event : {"PodFailed", "PodEvicted"}) {
    SCOPED_TRACE(event);
    BeginRunning(WithPolicy(MakeJob("j", 1, 2), event, "AbortJob", absl::Minutes(10)));
    if (event == std::string("PodFailed")) {
      rig_.kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
    } else {
      rig_.kube().RemovePod("default/j-t0-0");
    }
    rig_.Run(absl::Minutes(2));
    ASSERT_EQ(Status().version(), 0);
    SetClock();
    rig_.Run(absl::Minutes(7) + SetBackBy());
    EXPECT_EQ(Status().version(), IsSetBack() ? 0 : 1);
    rig_.Run(absl::Minutes(15));
    EXPECT_EQ(Status().version(), 1) << "once";
    EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Minutes(1));
    rig_.SetApiClock(GetParam().before);
  }
}

TEST_P(ClockTest, ADeadlineIsKeptOnceByAProcessThatStartsMeanwhile) {
  for (const bool lose_disk : {false, true}) {
    SCOPED_TRACE(lose_disk);
    BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "AbortJob", absl::Minutes(10)));
    rig_.kube().RemovePod("default/j-t0-0");
    rig_.Run(absl::Minutes(2));
    rig_.Kill();
    if (lose_disk) rig_.LoseDisk();
    SetClock();
    rig_.Start();
    rig_.Run(absl::Minutes(20) + SetBackBy());
    EXPECT_EQ(Status().version(), 1) << "once";
    EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Minutes(1));
    rig_.SetApiClock(GetParam().before);
  }
}

// The API server's own controller does the same: the time at which the job ended decides.
TEST_P(ClockTest, AFinishedJobIsDeletedByTheClockAsItIs) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  job.mutable_spec()->set_ttl_seconds_after_finished(600);
  BeginRunning(std::move(job));
  rig_.kube().SetAllPods(kPodSucceeded);
  rig_.Run(absl::Seconds(20));
  ASSERT_EQ(rig_.PhaseOf("default/j"), kCompleted);
  SetClock();
  rig_.Run(absl::Minutes(5));
  EXPECT_EQ(rig_.kube().jobs().size(), IsSetBack() ? 1u : 0u);
  rig_.Run(absl::Minutes(6) + SetBackBy());
  EXPECT_TRUE(rig_.kube().jobs().empty());
  EXPECT_EQ(rig_.kube().Count("delete", "jobs"), 1);
}

TEST_P(ClockTest, HistoryOfAJobThatIsGoneStays) {
  BeginRunning(MakeJob("j", 1, 1));
  const std::string uid = rig_.kube().job("default/j").meta().uid();
  rig_.kube().DeleteJob("default/j");
  rig_.Run(absl::Minutes(1));
  SetClock();
  rig_.Run(absl::Hours(5));
  EXPECT_FALSE(HistoryStore(rig_.store()).Read(SlotOf("default/j"), uid)->empty());
}

INSTANTIATE_TEST_SUITE_P(Jumps, ClockTest,
                         ::testing::Values(Jump{"AnHourForward", absl::ZeroDuration(), absl::Hours(1)},
                                           Jump{"ADayForward", absl::ZeroDuration(), absl::Hours(24)},
                                           Jump{"AnHourBack", absl::Hours(1), absl::ZeroDuration()},
                                           Jump{"ADayBack", absl::Hours(24), absl::ZeroDuration()}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace basalt::jobsvc::testing
