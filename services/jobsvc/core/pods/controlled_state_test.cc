#include "services/jobsvc/core/pods/controlled_state.h"

#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

TEST(ControlledStateTest, AWrittenStateIsReadBackAndUnknownMembersSurvive) {
  kube::v1::JobStatus status;
  SetResource(status, "basalt", R"({"seq":7,"later":[{"at":5}]})");
  ControlledState state = ReadControlledState(status);
  EXPECT_EQ(state.sequence, 7);
  state.sequence = 8;
  state.nonce = "n";
  state.kill = Kill{.cause = "PodFailed pod x",
                    .action = "RestartJob",
                    .version = 2,
                    .retain = Retain::kSoft,
                    .group_uid = "g",
                    .targets = {"u1", "u2"}};
  state.delete_terminal_below = 2;
  state.last_command_uid = "c";
  state.answered = {"u3", "u1"};
  state.done["t"] = {0, 1, 2, 7};
  state.objects["services/j"] = "hash uid";
  WriteControlledState(state, status);
  const ControlledState read = ReadControlledState(status);
  EXPECT_EQ(read.sequence, 8);
  EXPECT_EQ(read.kill, state.kill);
  EXPECT_EQ(read.done, state.done);
  EXPECT_EQ(read.objects, state.objects);
  EXPECT_EQ(read.last_command_uid, "c");
  EXPECT_EQ(read.answered, state.answered);
  EXPECT_EQ(read.rest, R"({"later":[{"at":5}]})");
  EXPECT_NE(FindResource(status, "basalt")->find(R"("done":{"t":"0-2,7"})"), std::string::npos);
}

TEST(ControlledStateTest, AFullKillOfAnotherControllerOvertakesTheState) {
  kube::v1::JobStatus status;
  status.set_version(3);
  ControlledState state;
  state.sequence = 8;
  state.kill = Kill{.action = "RestartTask", .version = 3, .targets = {"u1"}};
  state.answered = {"u1"};
  state.done["t"] = {0, 1};
  state.last_command_uid = "c";
  state.objects["services/j"] = "hash uid";
  WriteControlledState(state, status);
  EXPECT_EQ(ReadControlledState(status).done, state.done);
  status.set_version(4);
  const ControlledState read = ReadControlledState(status);
  EXPECT_TRUE(read.overtaken);
  EXPECT_FALSE(read.kill.has_value());
  EXPECT_TRUE(read.answered.empty());
  EXPECT_TRUE(read.done.empty());
  EXPECT_EQ(read.sequence, 8);
  EXPECT_EQ(read.last_command_uid, "c");
  EXPECT_EQ(read.objects, state.objects);
}

TEST(ControlledStateTest, DamageIsTheSameAsNothing) {
  for (const char* text : {"", "{", "[]", "7", "{\"seq\":\"x\"}"}) {
    kube::v1::JobStatus status;
    SetResource(status, "basalt", text);
    EXPECT_EQ(ReadControlledState(status).sequence, 0) << text;
  }
}

TEST(ControlledStateTest, ANumberThatDoesNotFitIsTheSameAsNone) {
  kube::v1::JobStatus status;
  SetResource(status, "basalt",
              R"({"seq":1e300,"below":4294967298,"failedBelow":2,)"
              R"("kill":{"action":"RestartJob","version":4294967297}})");
  const ControlledState read = ReadControlledState(status);
  EXPECT_EQ(read.sequence, 0);
  EXPECT_EQ(read.delete_terminal_below, 0);
  EXPECT_EQ(read.delete_failed_below, 2);
  ASSERT_TRUE(read.kill);
  EXPECT_EQ(read.kill->version, 0);
}

// Forty bytes of a status must not cost a replica gigabytes at every start.
TEST(ControlledStateTest, IndicesOfAllTasksTogetherAreBounded) {
  kube::v1::JobStatus status;
  SetResource(status, "basalt", R"({"seq":7,"done":{"a":"0-1","b":"0-999999","c":"0-999999","d":"5"}})");
  const ControlledState read = ReadControlledState(status);
  size_t indices = 0;
  for (const auto& [task, of_task] : read.done) indices += of_task.size();
  EXPECT_EQ(indices, kMostIndices);
  EXPECT_EQ(read.done.at("a"), (std::set<int32_t>{0, 1}));
}

TEST(ControlledStateTest, RangesStopAtNonsenseAndAtTheLimit) {
  EXPECT_EQ(ParseRanges("0-2,7"), (std::set<int32_t>{0, 1, 2, 7}));
  EXPECT_EQ(ParseRanges("1,x,3"), (std::set<int32_t>{1}));
  EXPECT_EQ(ParseRanges("5-2"), std::set<int32_t>{});
  EXPECT_EQ(ParseRanges("0-2000000000", 10).size(), 10u);
  EXPECT_EQ(FormatRanges({}), "");
}

}  // namespace
}  // namespace basalt::jobsvc
