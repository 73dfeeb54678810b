#include "tests/examples/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::examples {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PromiseTest, ReadsAllThatCanBePromised) {
  const absl::StatusOr<Promise> promise = ParsePromise(
      "# ends: Completed\n"
      "# at Running: basaltctl job suspend j --uid 'a b'\n"
      "# at Aborted: basaltctl job resume j\n"
      "# phases: Pending, Running, Completed\n"
      "# pods: 2 succeeded, 1 failed\n"
      "# retries: 2\n"
      "# version: 3\n"
      "# made: 6\n"
      "# makes: services/j, secrets\n"
      "# order: pods/a, pods/b\n"
      "# lasts: 10s-1m\n"
      "# events: ExecuteAction\n"
      "# says: a sentence, with a comma\n"
      "#\n"
      "# unknown: prose may hold colons\n"
      "apiVersion: v1\n");
  ASSERT_TRUE(promise.ok()) << promise.status();
  EXPECT_EQ(promise->ends, "Completed");
  EXPECT_FALSE(promise->stays);
  ASSERT_EQ(promise->steps.size(), 2u);
  EXPECT_EQ(promise->steps[0].phase, "Running");
  EXPECT_THAT(promise->steps[0].words, ElementsAre("basaltctl", "job", "suspend", "j", "--uid", "a b"));
  EXPECT_EQ(promise->steps[1].phase, "Aborted");
  EXPECT_THAT(promise->phases, ElementsAre("Pending", "Running", "Completed"));
  EXPECT_EQ(promise->pods->at("succeeded"), 2);
  EXPECT_EQ(promise->pods->at("failed"), 1);
  EXPECT_EQ(promise->pods->at("running"), 0) << "what is not named is none";
  EXPECT_EQ(promise->retries, 2);
  EXPECT_EQ(promise->version, 3);
  EXPECT_EQ(promise->made, 6);
  EXPECT_THAT(promise->makes, ElementsAre("services/j", "secrets"));
  EXPECT_THAT(promise->order, ElementsAre("pods/a", "pods/b"));
  EXPECT_EQ(promise->lasts->first, absl::Seconds(10));
  EXPECT_EQ(promise->lasts->second, absl::Minutes(1));
  EXPECT_THAT(promise->events, ElementsAre("ExecuteAction"));
  EXPECT_THAT(promise->says, ElementsAre("a sentence, with a comma"));
}

TEST(PromiseTest, AFileThatPromisesNothingIsNamed) {
  for (const std::string_view text : {"", "apiVersion: v1\n", "#\n# ends: Completed\n", "# made: 2\n"}) {
    EXPECT_THAT(ParsePromise(text).status().ToString(), HasSubstr("nothing is promised")) << text;
  }
}

TEST(PromiseTest, ALineThatCannotBeHeldIsNamed) {
  for (const std::string_view line : {"# ends: Done", "# stays: Deleted", "# A small job.", "# ends Completed",
                                      "# retries: few", "# pods: many succeeded", "# pods: 2 done", "# lasts: 10s",
                                      "# at Start: basaltctl", "# phases: Pending, Going", "# colour: blue"}) {
    const absl::Status status = ParsePromise(std::string(line) + "\n").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(status.ToString(), HasSubstr(line.substr(2))) << line;
  }
}

}  // namespace
}  // namespace basalt::examples
