#include "services/jobsvc/control/status/newest_status.h"

#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class NewestStatusTest : public PartTest {
 protected:
  static gateway::v1::GetResponse JobOf(const std::string& uid) {
    gateway::v1::GetResponse response;
    response.mutable_object()->mutable_job()->mutable_meta()->set_uid(uid);
    return response;
  }
  void Doubt() {
    BeginAnew();
    context.merged.clear();
    job.newest_status.Doubt();
    job.newest_status.Apply(job, host);
    job.newest_status.Apply(job, host);
  }
};

TEST_F(NewestStatusTest, AnUnrecordedStatusIsDoubtedWhereEffectsMayFollow) {
  struct Case {
    kube::v1::JobPhase phase;
    bool is_doubted;
  };
  const Case cases[] = {
      {kube::v1::JOB_PHASE_UNSPECIFIED, false}, {kube::v1::JOB_PHASE_PENDING, true},
      {kube::v1::JOB_PHASE_RUNNING, true},      {kube::v1::JOB_PHASE_RESTARTING, true},
      {kube::v1::JOB_PHASE_COMPLETING, true},   {kube::v1::JOB_PHASE_TERMINATING, true},
      {kube::v1::JOB_PHASE_ABORTING, true},     {kube::v1::JOB_PHASE_ABORTED, true},
      {kube::v1::JOB_PHASE_COMPLETED, false},   {kube::v1::JOB_PHASE_FAILED, false},
      {kube::v1::JOB_PHASE_TERMINATED, false},
  };
  for (const Case& test : cases) {
    NewestStatus status;
    status.DoubtUnrecorded(test.phase);
    EXPECT_EQ(status.is_doubted(), test.is_doubted) << test.phase;
  }
}

TEST_F(NewestStatusTest, AJobThatWasReadIsNotDoubtedAgainForWantOfARecord) {
  Doubt();
  AnswerRead(JobOf("job-uid"));
  EXPECT_FALSE(job.newest_status.is_doubted());
  ASSERT_EQ(context.merged.size(), 1U);
  EXPECT_FALSE(context.merged[0].gone);
  EXPECT_TRUE(Passes().contains(job.key));
  job.newest_status.DoubtUnrecorded(kube::v1::JOB_PHASE_RUNNING);
  EXPECT_FALSE(job.newest_status.is_doubted());
  job.newest_status.Doubt();
  EXPECT_TRUE(job.newest_status.is_doubted()) << "a write has met another state";
}

TEST_F(NewestStatusTest, AReadIsRepeatedWhereTheAnswerSaysNothingOfTheJob) {
  struct Case {
    const char* what;
    absl::StatusOr<gateway::v1::GetResponse> response;
    bool has_problem;
  };
  const Case cases[] = {
      {"no answer", absl::UnavailableError("away"), false},
      {"refused", Error(403), true},
      {"nothing has the name", Error(404), false},
      {"another job has the name", JobOf("another"), false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Doubt();
    AnswerRead(test.response);
    EXPECT_TRUE(context.merged.empty());
    EXPECT_TRUE(job.newest_status.is_doubted());
    EXPECT_EQ(!job.newest_status.problem().empty(), test.has_problem);
    job.newest_status.Apply(job, host);
    EXPECT_TRUE(context.gets.empty()) << "the read backs off";
    EXPECT_TRUE(Passes(absl::Seconds(1)).contains(job.key));
    job.newest_status.Apply(job, host);
    AnswerRead(JobOf("job-uid"));
    EXPECT_FALSE(job.newest_status.is_doubted());
    EXPECT_TRUE(job.newest_status.problem().empty());
  }
}

TEST_F(NewestStatusTest, AnAnswerThatIsNotWaitedForAnyMoreIsDropped) {
  Doubt();
  job.newest_status.EndDoubt();
  EXPECT_FALSE(job.newest_status.is_doubted());
  AnswerRead(absl::UnavailableError("away"));
  EXPECT_FALSE(job.newest_status.is_doubted());
}

TEST_F(NewestStatusTest, AnAnswerToAnEarlierReadEndsNoNewerDoubt) {
  Doubt();
  job.newest_status.EndDoubt();
  job.newest_status.Doubt();
  job.newest_status.Apply(job, host);
  ASSERT_EQ(context.gets.size(), 2U);
  context.gets.front().done(JobOf("job-uid"));
  context.gets.pop_front();
  EXPECT_TRUE(job.newest_status.is_doubted());
  AnswerRead(JobOf("job-uid"));
  EXPECT_FALSE(job.newest_status.is_doubted());
}

TEST_F(NewestStatusTest, AnAnswerAboutTheJobBeforeIsDropped) {
  Doubt();
  BecomeAnotherJob();
  job.newest_status.Doubt();
  job.newest_status.Apply(job, host);
  ASSERT_EQ(context.gets.size(), 2U);
  context.gets.front().done(JobOf("job-uid"));
  context.gets.pop_front();
  EXPECT_TRUE(context.merged.empty());
  EXPECT_TRUE(job.newest_status.is_doubted());
  AnswerRead(JobOf("another"));
  EXPECT_FALSE(job.newest_status.is_doubted());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
