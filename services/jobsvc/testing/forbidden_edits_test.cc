// Edits that the API server should have refused (job spec 2.6, U4 and U5): they are carried out, and an Event reports
// them, once for each generation. Nothing else is written to Kubernetes for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

class ForbiddenEditsTest : public JobTest {
 protected:
  void SetEstimate(const std::string& estimate) {
    EditSpec([&](kube::v1::JobSpec& spec) { spec.set_running_estimate(estimate); });
  }
  // Returns each warning as "<count> x <message>".
  std::vector<std::string> Warnings() {
    std::vector<std::string> warnings;
    for (const auto& [name, object] : kube().others()) {
      if (!name.starts_with("events/") || FindString(object, "reason") != "SpecWarning") continue;
      EXPECT_EQ(FindString(object, "type"), "Warning");
      warnings.push_back(std::to_string(FindInt(object, "count", 0)) + " x " +
                         std::string(FindString(object, "message")));
    }
    return warnings;
  }
};

TEST_F(ForbiddenEditsTest, OneIsToldInAnEventWithFieldAndCureAndNothingElseIsWritten) {
  BeginRunning(MakeJob("j", 2, 2));
  SetEstimate("1h");
  rig().Run(absl::Minutes(10));
  EXPECT_THAT(Warnings(), ElementsAre(AllOf(StartsWith("1 x spec.runningEstimate cannot be changed; of a job only "),
                                            EndsWith(": change it back, or delete the job and submit it again"))));
  EXPECT_EQ(kube().WritesButEvents(), 0);
  EXPECT_EQ(Status().reason(), "");
}

TEST_F(ForbiddenEditsTest, OnceForEachGenerationWhoeverLooks) {
  BeginRunning(MakeJob("j", 2, 2));
  SetEstimate("1h");
  rig().Run(absl::Seconds(20));
  StartAgain();
  rig().Run(absl::Seconds(20));
  Scale(3);
  rig().Run(absl::Minutes(10));
  EXPECT_THAT(Warnings(), ElementsAre(StartsWith("1 x "))) << "sizes may change";
  rig().Kill();
  SetEstimate("2h");
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_THAT(Warnings(), ElementsAre(StartsWith("2 x "))) << "this was changed once more";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
