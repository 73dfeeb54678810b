#include "cli/view/look.h"

#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

TEST(LookTest, ColoursAreForTerminalsWhoseOwnerWantsThem) {
  EXPECT_TRUE(UsesColours(true, nullptr, "xterm-256color"));
  EXPECT_TRUE(UsesColours(true, "", "xterm")) << "an empty NO_COLOR says nothing";
  EXPECT_FALSE(UsesColours(false, nullptr, "xterm"));
  EXPECT_FALSE(UsesColours(true, "1", "xterm"));
  EXPECT_FALSE(UsesColours(true, nullptr, "dumb"));
  EXPECT_FALSE(UsesColours(true, nullptr, nullptr));
}

TEST(LookTest, OnlyPhasesThatNeedAnEyeHaveAColour) {
  EXPECT_EQ(ColourOf(kube::v1::JOB_PHASE_COMPLETED), Colour::kGreen);
  EXPECT_EQ(ColourOf(kube::v1::JOB_PHASE_FAILED), Colour::kRed);
  EXPECT_EQ(ColourOf(kube::v1::JOB_PHASE_TERMINATED), Colour::kRed);
  for (const auto phase : {kube::v1::JOB_PHASE_PENDING, kube::v1::JOB_PHASE_RESTARTING, kube::v1::JOB_PHASE_ABORTING,
                           kube::v1::JOB_PHASE_ABORTED}) {
    EXPECT_EQ(ColourOf(phase), Colour::kYellow);
  }
  EXPECT_EQ(ColourOf(kube::v1::JOB_PHASE_RUNNING), Colour::kPlain);
  EXPECT_EQ(ColourOf(kube::v1::JOB_PHASE_UNSPECIFIED), Colour::kPlain);
  EXPECT_EQ(Paint("Failed", Colour::kRed), "\x1b[31mFailed\x1b[0m");
  EXPECT_EQ(Paint("Running", Colour::kPlain), "Running");
}

}  // namespace
}  // namespace basalt::cli
