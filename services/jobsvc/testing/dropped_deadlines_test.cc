// A delayed action that is announced and then dropped: history records that and the reason, and its Event names the
// pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DroppedDeadlinesTest : public ::testing::Test {
 protected:
  // Begins with an action that waits since j-t0-1 was evicted, and that history has announced.
  void BeginWithAnEviction(const std::string& action) {
    kube::v1::Job job = MakeJob("j", 1, 3);
    job.mutable_spec()->set_min_available(1);
    Begin(WithPolicy(std::move(job), "PodEvicted", action, absl::Minutes(10)));
    kube().RemovePod("default/j-t0-1");
    rig_.Run(absl::Seconds(1));
    ASSERT_THAT(Outcomes(), Contains(StartsWith("to be carried out at ")));
  }
  void Begin(kube::v1::Job job) {
    rig_.Start();
    kube().PutJob(std::move(job));
    rig_.Run();
    kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  std::vector<storage::v1::HistoryRecord> History() {
    return *HistoryStore(rig_.store()).Read(SlotOf("default/j"), kube().job("default/j").meta().uid());
  }
  std::vector<std::string> Outcomes() {
    std::vector<std::string> outcomes;
    for (const auto& entry : History()) outcomes.push_back(entry.outcome());
    return outcomes;
  }
  std::vector<std::string> Events() {
    std::vector<std::string> messages;
    for (const auto& [name, body] : kube().others()) {
      if (name.starts_with("events/")) messages.emplace_back(FindString(body, "message"));
    }
    return messages;
  }

  JobKube& kube() { return rig_.kube(); }
  JobRig rig_;
};

TEST_F(DroppedDeadlinesTest, HistorySaysThatAnotherPodRuns) {
  BeginWithAnEviction("AbortJob");
  kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Minutes(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  const storage::v1::HistoryRecord last = History().back();
  EXPECT_EQ(last.outcome(), "dropped: another pod j-t0-1 runs");
  EXPECT_EQ(last.event(), "PodEvicted");
  EXPECT_EQ(last.action(), "AbortJob");
  EXPECT_EQ(last.subject(), "pod j-t0-1");
}

TEST_F(DroppedDeadlinesTest, HistorySaysThatAProcessWhichWasNotHereLetItDrop) {
  BeginWithAnEviction("AbortJob");
  rig_.Kill();
  kube().SetAllPods(kPodRunning);
  rig_.Start();
  rig_.Run(absl::Minutes(20));
  EXPECT_EQ(History().back().outcome(), "dropped: another pod j-t0-1 runs");
}

TEST_F(DroppedDeadlinesTest, HistorySaysThatTheJobEndedFirst) {
  BeginWithAnEviction("AbortJob");
  kube().SetAllPods(kPodSucceeded);
  rig_.Run(absl::Minutes(1));
  ASSERT_EQ(rig_.PhaseOf("default/j"), kCompleted);
  EXPECT_THAT(Outcomes(),
              Contains(HasSubstr("; AbortJob of pod j-t0-1 because of PodEvicted is dropped: the job is Completed")));
}

TEST_F(DroppedDeadlinesTest, HistorySaysThatAnotherActionCameFirst) {
  BeginWithAnEviction("TerminateJob");
  kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Minutes(1));
  EXPECT_THAT(Outcomes(), Contains(HasSubstr("; TerminateJob of pod j-t0-1 because of PodEvicted is dropped: AbortJob "
                                             "because of CommandIssued came first")));
}

TEST_F(DroppedDeadlinesTest, HistorySaysThatTheJobWasRestarted) {
  BeginWithAnEviction("RestartPod");
  kube().PutCommand("default", "again", "RestartJob", "j");
  rig_.Run(absl::Minutes(1));
  EXPECT_THAT(Outcomes(), Contains(HasSubstr("dropped: the job was restarted as version 1")));
}

TEST_F(DroppedDeadlinesTest, HistorySaysThatThereWasNothingToDo) {
  BeginWithAnEviction("ResumeJob");
  rig_.Run(absl::Minutes(11));
  EXPECT_EQ(History().back().outcome(), "dropped: there was nothing to do");
}

TEST_F(DroppedDeadlinesTest, WhatIsCarriedOutIsNotSaidToBeDropped) {
  BeginWithAnEviction("AbortJob");
  rig_.Run(absl::Minutes(11));
  ASSERT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_THAT(Outcomes(), ::testing::Not(Contains(HasSubstr("dropped"))));
}

TEST_F(DroppedDeadlinesTest, EventsNameThePodOfADelayedAction) {
  BeginWithAnEviction("AbortJob");
  EXPECT_THAT(Events(), Contains(StartsWith("AbortJob in 10m0s because of PodEvicted (pod j-t0-1, spec.policies[")));
}

TEST_F(DroppedDeadlinesTest, ManyAtOnceAreOneEventThatNamesTheFirst) {
  Begin(WithPolicy(MakeJob("j", 1, 40), "PodFailed", "AbortJob", absl::Minutes(10)));
  rig_.Kill();
  kube().SetAllPods(kPodFailed);
  rig_.Start();
  rig_.Run(absl::Seconds(1));
  EXPECT_THAT(Events(), Contains(StartsWith("AbortJob in 10m0s because of PodFailed (pod j-t0-0 and 39 more, ")));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
