#include "kubesim/actors/scheduler/gang_rules.h"

#include <gtest/gtest.h>

#include "kubesim/actors/scheduler/resources.h"

namespace basalt::actors {
namespace {

GangCounts Counts(std::initializer_list<std::pair<TaskState, int>> states, int releasing_with_node = 0) {
  GangCounts counts;
  for (const auto& [state, n] : states) counts.Of(state) = n;
  counts.releasing_with_node = releasing_with_node;
  return counts;
}

TEST(TaskStateTest, FollowsThePodsPhaseDeletionAndNode) {
  struct Row {
    std::string_view phase;
    bool deleting, has_node;
    TaskState state;
  };
  for (const Row& row : {Row{"Running", true, true, TaskState::kReleasing},
                         {"Running", false, true, TaskState::kRunning},
                         {"Pending", true, false, TaskState::kReleasing},
                         {"Pending", true, true, TaskState::kReleasing},
                         {"Pending", false, false, TaskState::kPending},
                         {"Pending", false, true, TaskState::kBound},
                         {"Succeeded", true, true, TaskState::kSucceeded},
                         {"Failed", false, false, TaskState::kFailed},
                         {"Unknown", false, true, TaskState::kUnknown},
                         {"", false, false, TaskState::kUnknown}}) {
    EXPECT_EQ(TaskStateOf(row.phase, row.deleting, row.has_node), row.state) << row.phase;
  }
}

TEST(PhaseTest, FollowsTheFormulaRowByRow) {
  using enum TaskState;
  struct Row {
    const char* what;
    const char* phase;
    int min_member;
    GangCounts counts;
    bool unschedulable;
    const char* next;
  };
  const Row rows[] = {
      {"nothing yet", "", 2, Counts({}), false, "Pending"},
      {"pending stays", "Pending", 2, Counts({{kPending, 2}}), true, "Pending"},
      {"inqueue is sticky", "Inqueue", 2, Counts({{kPending, 2}}), true, "Inqueue"},
      {"binding does not count", "Inqueue", 2, Counts({{kBinding, 2}}), false, "Inqueue"},
      {"bound is running", "Inqueue", 2, Counts({{kBound, 2}}), false, "Running"},
      {"from pending straight", "Pending", 2, Counts({{kBound, 1}, {kRunning, 1}}), false, "Running"},
      {"releasing with node counts", "Running", 2, Counts({{kRunning, 1}, {kReleasing, 1}}, 1), false, "Running"},
      {"releasing without node does not", "Running", 2, Counts({{kRunning, 1}, {kReleasing, 1}}), false, "Pending"},
      {"running and unschedulable", "Running", 3, Counts({{kRunning, 1}, {kPending, 2}}), true, "Unknown"},
      {"unschedulable without running", "Running", 1, Counts({{kBound, 1}, {kPending, 2}}), true, "Running"},
      {"unknown recovers", "Unknown", 2, Counts({{kRunning, 2}}), false, "Running"},
      {"all done", "Running", 2, Counts({{kSucceeded, 2}}), false, "Completed"},
      {"all failed is completed too", "Running", 2, Counts({{kFailed, 2}}), true, "Completed"},
      {"completed while others wait", "Running", 1, Counts({{kSucceeded, 1}, {kPending, 3}}), false, "Completed"},
      {"completed is not terminal", "Completed", 1, Counts({{kSucceeded, 1}, {kBound, 1}}), false, "Running"},
      {"running falls back", "Running", 2, Counts({{kRunning, 1}}), false, "Pending"},
      {"completed falls back", "Completed", 2, Counts({{kSucceeded, 1}}), false, "Pending"},
      {"no minimum and no pods", "Pending", 0, Counts({}), false, "Completed"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(NextPhase(row.phase, row.min_member, row.counts, row.unschedulable), row.next) << row.what;
  }
}

TEST(ConditionTest, FollowsReadinessAndForgivesGracefulTermination) {
  using enum TaskState;
  EXPECT_EQ(ConditionOf(Counts({}), 2), GangCondition::kNone);
  EXPECT_EQ(ConditionOf(Counts({{kPending, 2}}), 2), GangCondition::kUnschedulable);
  EXPECT_EQ(ConditionOf(Counts({{kBinding, 2}}), 2), GangCondition::kScheduled);
  EXPECT_EQ(ConditionOf(Counts({{kSucceeded, 1}, {kRunning, 1}}), 2), GangCondition::kScheduled);
  EXPECT_EQ(ConditionOf(Counts({{kFailed, 2}}), 2), GangCondition::kUnschedulable);
  EXPECT_EQ(ConditionOf(Counts({{kRunning, 1}, {kReleasing, 1}}, 1), 2), GangCondition::kNone);
  EXPECT_EQ(ConditionOf(Counts({{kRunning, 1}, {kReleasing, 1}, {kPending, 1}}, 1), 2), GangCondition::kUnschedulable);
  GangCounts best_effort = Counts({{kRunning, 1}, {kPending, 1}});
  best_effort.best_effort_pending = 1;
  EXPECT_EQ(ConditionOf(best_effort, 2), GangCondition::kScheduled);
}

TEST(FitErrorTest, IsWordedAsUpstreamWordsIt) {
  using enum TaskState;
  EXPECT_EQ(FitError(Counts({{kRunning, 1}, {kPending, 2}}), {.min_member = 3, .pending_unschedulable = 2}),
            "pod group is not ready, 1 Running, 2 Pending, 3 minAvailable; Pending: 2 Unschedulable");
  EXPECT_EQ(
      FitError(Counts({{kRunning, 2}, {kPending, 10}}),
               {.min_member = 3, .pending_schedulable = 1, .pending_unschedulable = 9, .task_reason = "p-0: no room"}),
      "pod group is not ready, 10 Pending, 2 Running, 3 minAvailable; Pending: 1 Schedulable, 9 Unschedulable. "
      "Origin reason is p-0: no room");
  EXPECT_EQ(FitError(Counts({{kBinding, 3}}), {.min_member = 3, .ready = true}),
            "pod group is ready, 3 Binding, 3 minAvailable");
  EXPECT_EQ(FitError(Counts({{kPending, 1}}), {.min_member = 1, .pending_unschedulable = 1, .job_reason = "closed"}),
            "pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable. Origin reason is: closed");
}

TEST(FitErrorTest, NamesTheTasksThatWereNotTried) {
  using enum TaskState;
  EXPECT_EQ(FitError(Counts({{kPending, 6}}), {.min_member = 3,
                                               .pending_schedulable = 2,
                                               .pending_unschedulable = 1,
                                               .pending_undetermined = 3,
                                               .task_reason = "p-0: no room"}),
            "pod group is not ready, 3 minAvailable, 6 Pending; Pending: 1 Unschedulable, 2 Schedulable, "
            "3 Undetermined. Origin reason is p-0: no room");
}

TEST(TaskMinimumsTest, CountOnlyWhereMinMemberCoversTheirSum) {
  EXPECT_EQ(TaskShortfall({}, 2, {}), 0);
  EXPECT_EQ(TaskShortfall({{"a", 1}, {"b", 1}}, 2, {{"a", 1}, {"b", 4}}), 0);
  EXPECT_EQ(TaskShortfall({{"a", 1}, {"b", 1}}, 2, {{"b", 4}}), 1);
  EXPECT_EQ(TaskShortfall({{"a", 3}, {"b", 2}}, 5, {{"a", 1}}), 4);
  EXPECT_EQ(TaskShortfall({{"a", 2}, {"b", 2}}, 3, {{"b", 4}}), 0);
}

TEST(TaskMinimumsTest, TheMissingAreNeverFewerThanTheMinimumsLack) {
  using enum TaskState;
  EXPECT_EQ(TasksMissing(Counts({{kRunning, 1}, {kPending, 2}}), 3, 0), 2);
  EXPECT_EQ(TasksMissing(Counts({{kBinding, 5}, {kPending, 1}}), 3, 1), 1);
}

TEST(ResourcesTest, APodAsksForItsContainersOrItsLargestInitContainer) {
  const json::value spec = *ParseJson(R"({"containers":[
      {"resources":{"requests":{"cpu":"500m","memory":"1Gi"}}},{"resources":{"limits":{"cpu":2,"nvidia.com/gpu":"1"}}}],
      "initContainers":[{"resources":{"requests":{"cpu":"1","memory":"3Gi"}}}],"overhead":{"cpu":"10m"}})");
  EXPECT_EQ(PodRequest(spec),
            (Amounts{{"cpu", 2510}, {"memory", (int64_t{3} << 30) * 1000}, {"nvidia.com/gpu", 1000}}));
}

TEST(ResourcesTest, ALimitBindsOnlyWhatItListsButANodeHasOnlyWhatItLists) {
  const Amounts limit{{"cpu", 4000}};
  EXPECT_TRUE(WithinListed({{"cpu", 3000}}, {{"cpu", 1000}, {"memory", 9}}, limit));
  EXPECT_FALSE(WithinListed({{"cpu", 3001}}, {{"cpu", 1000}}, limit));
  EXPECT_TRUE(WithinListed({{"cpu", 5000}}, {{"memory", 9}}, limit));
  EXPECT_FALSE(Fits({}, {{"nvidia.com/gpu", 1}}, limit));
  EXPECT_EQ(Lacking({{"cpu", 1}}, {{"cpu", 4000}}, limit), "cpu");
}

}  // namespace
}  // namespace basalt::actors
