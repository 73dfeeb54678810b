#include "kubesim/actors/node/container_plan.h"

#include <gtest/gtest.h>

namespace basalt::actors {
namespace {

using Argv = std::vector<std::string>;

Argv Shell(std::string script) { return {"/bin/sh", "-c", std::move(script)}; }

TEST(ContainerPlanTest, UnderstandsWhatASimpleCommandDoes) {
  struct Row {
    Argv argv;
    double seconds;
    int exit_code;
  };
  const Row rows[] = {
      {{"sleep", "5"}, 5, 0},
      {{"/usr/bin/sleep", "1.5s", "2"}, 3.5, 0},
      {{"sleep", "1m"}, 60, 0},
      {{"true"}, 0, 0},
      {{"false"}, 0, 1},
      {{"exit", "1"}, 0, 1},
      {{"echo", "a", "&&", "b"}, 0, 0},
      {Shell("sleep 3; exit 2"), 3, 2},
      {Shell("exit 1"), 0, 1},
      {Shell("exit 256"), 0, 0},
      {Shell("false"), 0, 1},
      {Shell("false; true"), 0, 0},
      {Shell("false && sleep 9"), 0, 1},
      {Shell("false || sleep 2"), 2, 0},
      {Shell("true || exit 3"), 0, 0},
      {Shell("true && sleep 1 && exit 4; sleep 9"), 1, 4},
      {Shell("false; exit"), 0, 1},
      {Shell("# nothing yet\necho 'a; b | c' \"$HOME d\"\nsleep 2 # wait\n"), 2, 0},
      {Shell("set -e; false; sleep 9"), 0, 1},
      {Shell("set -e; false || true; sleep 1"), 1, 0},
      {{"sh", "-ec", "false\nsleep 9"}, 0, 1},
      {{"bash", "-x", "-c", "sleep 1;"}, 1, 0},
      {Shell("echo start; sleep 0.25; echo done; exit 7"), 0.25, 7},
  };
  for (const Row& row : rows) {
    const auto plan = PlanOfCommand(row.argv);
    ASSERT_TRUE(plan.has_value()) << row.argv.back();
    EXPECT_EQ(plan->duration, absl::Seconds(row.seconds)) << row.argv.back();
    EXPECT_EQ(plan->exit_code, row.exit_code) << row.argv.back();
  }
  EXPECT_EQ(PlanOfCommand({"sleep", "infinity"})->duration, absl::InfiniteDuration());
}

TEST(ContainerPlanTest, GuessesNothing) {
  const Argv rows[] = {
      {},
      {"nginx"},
      {"sleep"},
      {"sleep", "soon"},
      {"sleep", "-1"},
      {"exit", "-1"},
      {"exit", "two"},
      {"sh"},
      {"sh", "-c"},
      {"sh", "script.sh"},
      {"sh", "-k", "-c", "true"},
      Shell(""),
      Shell("python train.py"),
      Shell("sleep 1 & wait"),
      Shell("echo a | cat"),
      Shell("echo a > /tmp/b"),
      Shell("sleep $(cat n)"),
      Shell("sleep `cat n`"),
      Shell("echo \"$(date)\""),
      Shell("if true; then exit 1; fi"),
      Shell("echo 'open"),
      Shell("true && && false"),
      Shell("true || python x"),
      Shell("exit $?"),
      Shell("(sleep 1)"),
  };
  for (const Argv& row : rows) EXPECT_FALSE(PlanOfCommand(row).has_value()) << (row.empty() ? "" : row.back());
}

}  // namespace
}  // namespace basalt::actors
