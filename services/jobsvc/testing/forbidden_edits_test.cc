// Edits that the API server should have refused (job spec 2.6, U4 and U5): they are carried out, and an Event reports
// them, once for each generation. Nothing else is written to Kubernetes for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::Job;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kKey[] = "default/j";

class ForbiddenEditsTest : public ::testing::Test {
 protected:
  void Begin(Job job = MakeJob("j", 2, 2)) {
    rig_.Start();
    rig_.kube().PutJob(std::move(job));
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
  }
  void SetEstimate(const std::string& estimate) {
    rig_.kube().EditJob(kKey, [&](Job& job) { job.mutable_spec()->set_running_estimate(estimate); });
  }
  void Restart() {
    rig_.Kill();
    rig_.Start();
    rig_.Run(absl::Seconds(20));
  }
  // Returns each warning as "<count> x <message>".
  std::vector<std::string> Warnings() {
    std::vector<std::string> warnings;
    for (const auto& [name, object] : rig_.kube().others()) {
      if (!name.starts_with("events/") || FindString(object, "reason") != "SpecWarning") continue;
      EXPECT_EQ(FindString(object, "type"), "Warning");
      warnings.push_back(std::to_string(FindInt(object, "count", 0)) + " x " +
                         std::string(FindString(object, "message")));
    }
    return warnings;
  }

  JobRig rig_;
};

TEST_F(ForbiddenEditsTest, OneIsToldInAnEventWithFieldAndCureAndNothingElseIsWritten) {
  Begin();
  ASSERT_EQ(rig_.PhaseOf(kKey), kRunning);
  rig_.kube().ClearLog();
  SetEstimate("1h");
  rig_.Run(absl::Minutes(10));
  EXPECT_THAT(Warnings(), ElementsAre(AllOf(StartsWith("1 x spec.runningEstimate cannot be changed; of a job only "),
                                            EndsWith(": change it back, or delete the job and submit it again"))));
  EXPECT_EQ(rig_.kube().WritesButEvents(), 0);
  EXPECT_EQ(rig_.kube().job(kKey).status().reason(), "");
}

TEST_F(ForbiddenEditsTest, OnceForEachGenerationWhoeverLooks) {
  Begin();
  SetEstimate("1h");
  rig_.Run(absl::Seconds(20));
  Restart();
  rig_.kube().EditJob(kKey, [](Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(3); });
  rig_.Run(absl::Minutes(10));
  EXPECT_THAT(Warnings(), ElementsAre(StartsWith("1 x "))) << "sizes may change";
  rig_.Kill();
  SetEstimate("2h");
  rig_.Start();
  rig_.Run(absl::Seconds(20));
  EXPECT_THAT(Warnings(), ElementsAre(StartsWith("2 x "))) << "this was changed once more";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
