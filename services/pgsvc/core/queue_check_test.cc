#include "services/pgsvc/core/queue_check.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace basalt::pgsvc {
namespace {

using State = SeenQueue::State;

TEST(QueueCheckTest, AQueueThatIsMissingHasChildrenOrHangsInTheAirPlacesNothing) {
  const std::map<std::string, SeenQueue, std::less<>> queues = {
      {"root", {State::kThere, "", true}},          {"leaf", {State::kThere, "root", false}},
      {"top", {State::kThere, "", false}},          {"orphan", {State::kThere, "gone", false}},
      {"middle", {State::kThere, "gone", true}},    {"below-middle", {State::kThere, "middle", false}},
      {"a", {State::kThere, "b", false}},           {"b", {State::kThere, "a", false}},
      {"early", {State::kThere, "unknown", false}}, {"below-a", {State::kThere, "a", false}},
  };
  const auto find = [&queues](std::string_view name) {
    const auto queue = queues.find(name);
    if (queue != queues.end()) return queue->second;
    return SeenQueue{.state = name == "unknown" ? State::kUnknown : State::kAbsent};
  };
  const struct {
    const char* queue;
    const char* why;
  } rows[] = {
      {"leaf", ""},
      {"top", ""},
      {"unknown", ""},
      {"early", ""},
      {"gone", "queue gone does not exist: no group of it is placed until it does"},
      {"root", "queue root has queues below it: only queues that have none place groups"},
      {"orphan", "queue orphan is below queue gone, which does not exist: no group of it is placed until that does"},
      {"below-middle",
       "queue below-middle is below queue gone, which does not exist: no group of it is placed until that does"},
      {"a", "queue a is below itself: no group of it is placed"},
      {"below-a", "queue below-a is below queue a, which is below itself: no group of it is placed"},
  };
  for (const auto& row : rows) EXPECT_EQ(WhyQueuePlacesNothing(row.queue, find), row.why) << row.queue;
}

TEST(QueueProblemTest, AProblemThatLastsIsReportedOnceAndAnotherOneAgain) {
  QueueProblem problem;
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_EQ(problem.due(), absl::InfiniteFuture());
  EXPECT_FALSE(problem.Take("x", start));
  EXPECT_EQ(problem.due(), start + QueueProblem::kGrace);
  EXPECT_FALSE(problem.Take("x", start + absl::Seconds(29)));
  EXPECT_TRUE(problem.Take("x", start + absl::Seconds(30)));
  EXPECT_FALSE(problem.Take("x", start + absl::Seconds(60)));
  EXPECT_EQ(problem.due(), absl::InfiniteFuture());
  EXPECT_FALSE(problem.Take("", start + absl::Seconds(61)));
  EXPECT_FALSE(problem.Take("y", start + absl::Seconds(62)));
  EXPECT_TRUE(problem.Take("y", start + absl::Seconds(92)));
}

}  // namespace
}  // namespace basalt::pgsvc
