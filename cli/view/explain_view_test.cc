#include "cli/view/explain_view.h"

#include <gtest/gtest.h>

#include "cli/view/table.h"

namespace basalt::cli {
namespace {

job::v1::Cause MakeCause(job::v1::Cause::Kind kind, const char* subject, const char* message, const char* advice) {
  job::v1::Cause cause;
  cause.set_kind(kind);
  cause.set_subject(subject);
  cause.set_message(message);
  cause.set_advice(advice);
  return cause;
}

TEST(ExplainViewTest, ThePictureOfAnExplanation) {
  job::v1::JobExplanation explanation;
  explanation.mutable_explain_time()->set_seconds(1'000'000);
  explanation.set_summary("Job default/j is Pending. Not enough cpu.");
  auto& words = *explanation.add_causes() =
      MakeCause(job::v1::Cause::KIND_UNSCHEDULABLE, "PodGroup j-1", "not enough cpu", "Add or free resources.");
  words.mutable_since_time()->set_seconds(1'000'000 - 61);
  auto& deadline = *explanation.add_causes() =
      MakeCause(job::v1::Cause::KIND_DEADLINE, "pod j-t-0", "AbortJob because of PodPending", "");
  deadline.mutable_until_time()->set_seconds(1'000'000 + 600);
  auto& claim = *explanation.add_causes() = MakeCause(job::v1::Cause::KIND_POD_GROUP, "", "being made", "");
  claim.mutable_until_time()->set_seconds(1'000'000 + 2);
  EXPECT_EQ(FormatExplanation(explanation, 0),
            "Job default/j is Pending. Not enough cpu.\n"
            "\n"
            "- unschedulable, PodGroup j-1: not enough cpu, for 61s\n"
            "  → Add or free resources.\n"
            "- deadline, pod j-t-0: AbortJob because of PodPending, due in 10m (1970-01-12T13:56:40Z)\n"
            "- pod group: being made, tried again in 2s (1970-01-12T13:46:42Z)\n");
  EXPECT_EQ(FormatExplanation(explanation, 30).substr(0, 113),
            "Job default/j is Pending. Not\n"
            "enough cpu.\n"
            "\n"
            "- unschedulable, PodGroup j-1:\n"
            "  not enough cpu, for 61s\n"
            "  → Add or ");
}

TEST(ExplainViewTest, LinesAreBrokenBetweenWords) {
  EXPECT_EQ(Wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(Wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrap("a unbreakable b", 4), "a\nunbreakable\nb");
  EXPECT_EQ(Wrap("é é é", 3), "é é\né");
  EXPECT_EQ(Wrap("as it is", 0), "as it is");
  EXPECT_EQ(Wrap("", 10), "");
}

}  // namespace
}  // namespace basalt::cli
