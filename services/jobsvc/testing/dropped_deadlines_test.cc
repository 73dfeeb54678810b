// A delayed action that is announced and then dropped: history records that and the reason, and its Event names the
// pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DroppedDeadlinesTest : public JobTest {
 protected:
  // Begins with an action that waits since j-t0-1 was evicted, and that history has announced.
  void BeginWithAnEviction(const std::string& action) {
    Fresh();
    kube::v1::Job job = MakeJob("j", 1, 3);
    job.mutable_spec()->set_min_available(1);
    BeginRunning(WithPolicy(std::move(job), "PodEvicted", action, absl::Minutes(10)));
    kube().RemovePod("default/j-t0-1");
    rig().Run(absl::Seconds(1));
    ASSERT_THAT(Outcomes(), Contains(StartsWith("to be carried out at ")));
    EXPECT_EQ(kube().Count("patch", "jobs/status"), 1) << "at once: the next process has to know of it";
  }
  std::vector<std::string> Outcomes() {
    std::vector<std::string> outcomes;
    for (const auto& entry : History()) outcomes.push_back(entry.outcome());
    return outcomes;
  }
  std::vector<std::string> Messages() {
    std::vector<std::string> messages;
    for (const auto& [name, body] : kube().others()) {
      if (name.starts_with("events/")) messages.emplace_back(FindString(body, "message"));
    }
    return messages;
  }
};

TEST_F(DroppedDeadlinesTest, HistorySaysWhyAnActionIsDropped) {
  struct Row {
    const char* what;
    const char* action;
    std::function<void()> happens;
    absl::Duration time;
    kube::v1::JobPhase phase;
    const char* outcome;
  };
  const Row rows[] = {
      {"another pod runs", "AbortJob", [this] { kube().SetAllPods(kPodRunning); }, absl::Minutes(20), kRunning,
       "dropped: another pod j-t0-1 runs"},
      {"another pod runs, and no process was there", "AbortJob",
       [this] {
         rig().Kill();
         kube().SetAllPods(kPodRunning);
         rig().Start();
       },
       absl::Minutes(20), kRunning, "dropped: another pod j-t0-1 runs"},
      {"the job ends first", "AbortJob", [this] { kube().SetAllPods(kPodSucceeded); }, absl::Minutes(1), kCompleted,
       "; AbortJob of pod j-t0-1 because of PodEvicted is dropped: the job is Completed"},
      {"another action comes first", "TerminateJob", [this] { Command("stop", "AbortJob"); }, absl::Minutes(1),
       kAborted,
       "; TerminateJob of pod j-t0-1 because of PodEvicted is dropped: AbortJob because of CommandIssued came first"},
      {"the job is restarted", "RestartPod", [this] { Command("again", "RestartJob"); }, absl::Minutes(1), kPending,
       "dropped: the job was restarted as version 1"},
      {"there is nothing to do", "ResumeJob", [] {}, absl::Minutes(11), kRunning, "dropped: there was nothing to do"},
      {"it is carried out", "AbortJob", [] {}, absl::Minutes(11), kAborted, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    BeginWithAnEviction(row.action);
    row.happens();
    rig().Run(row.time);
    EXPECT_EQ(Phase(), row.phase);
    if (*row.outcome != '\0') {
      EXPECT_THAT(Outcomes(), Contains(HasSubstr(row.outcome)));
    } else {
      EXPECT_THAT(Outcomes(), Not(Contains(HasSubstr("dropped"))));
    }
  }
}

TEST_F(DroppedDeadlinesTest, ADroppedActionHasAnEntryOfItsOwn) {
  BeginWithAnEviction("AbortJob");
  EXPECT_THAT(Messages(), Contains(StartsWith("AbortJob in 10m0s because of PodEvicted (pod j-t0-1, spec.policies[")));
  EXPECT_EQ(History().back().event(), "PodEvicted");
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Minutes(20));
  const storage::v1::HistoryRecord last = History().back();
  EXPECT_EQ(last.outcome(), "dropped: another pod j-t0-1 runs");
  EXPECT_EQ(last.event(), "PodEvicted");
  EXPECT_EQ(last.action(), "AbortJob");
  EXPECT_EQ(last.subject(), "pod j-t0-1");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
