#include "cli/view/output.h"

#include <gtest/gtest.h>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {
namespace {

TEST(OutputTest, TimesAreRfc3339AndThoseThatAreNotKnownAreLeftOut) {
  job::v1::JobExplanation explanation;
  explanation.mutable_explain_time()->set_seconds(1'767'366'245);
  job::v1::Cause& cause = *explanation.add_causes();
  cause.mutable_since_time()->set_seconds(1'767'366'244);
  cause.mutable_since_time()->set_nanos(5'000'000);
  EXPECT_EQ(FormatLine(explanation),
            R"({"causes":[{"since_time":"2026-01-02T15:04:04.005Z"}],"explain_time":"2026-01-02T15:04:05Z"})"
            "\n");
  EXPECT_EQ(FormatMessage(explanation, "yaml"),
            "causes:\n"
            "- since_time: \"2026-01-02T15:04:04.005Z\"\n"
            "explain_time: \"2026-01-02T15:04:05Z\"\n");
}

}  // namespace
}  // namespace basalt::cli
