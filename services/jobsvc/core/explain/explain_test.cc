#include "services/jobsvc/core/explain/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/explain/explain_words.h"
#include "services/jobsvc/core/spec/compiled_job.h"
#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

// Job spec appendix B.
TEST(ExplainTest, TheNewestTrueConditionOfAGroupIsWhatItsSchedulerSays) {
  struct Condition {
    const char* type;
    const char* status;
    int64_t minute;
  };
  struct Row {
    std::vector<Condition> conditions;
    const char* said;  // Null if the condition states nothing for which a job waits.
  };
  const Row rows[] = {
      {{{"Unschedulable", "True", 15}, {"Scheduled", "True", 4}}, "Unschedulable"},
      {{{"Unschedulable", "True", 15}, {"Scheduled", "True", 20}}, nullptr},
      {{{"Scheduled", "False", 20}, {"Unschedulable", "True", 15}}, "Unschedulable"},
      {{{"Unschedulable", "False", 15}}, nullptr},
      {{}, nullptr},
  };
  for (const Row& row : rows) {
    kube::v1::PodGroup group;
    for (const Condition& condition : row.conditions) {
      auto* added = group.add_conditions();
      added->set_type(condition.type);
      added->set_status(condition.status);
      added->set_last_transition_ms(condition.minute * 60'000);
    }
    const kube::v1::PodGroupCondition* const words = SchedulersWords(group);
    EXPECT_EQ(words == nullptr ? std::string("nothing") : words->type(), row.said == nullptr ? "nothing" : row.said)
        << group.DebugString();
  }
}

struct EndRow {
  std::vector<std::pair<int32_t, int32_t>> tasks;  // replicas, minAvailable.
  int32_t min_available;
  int32_t min_success;  // 0 if there is none.
  const char* end;
};

// Job spec 8.2, RUN.
TEST(ExplainTest, HowAJobEndsFollowsFromItsSizes) {
  const EndRow rows[] = {
      {{{3, 3}}, 3, 0, "It ends when all 3 pods have finished: Completed if all succeed, else Failed."},
      {{{3, 1}}, 2, 0, "It ends when all 3 pods have finished: Completed if at least 2 succeed, else Failed."},
      {{{2, 1}, {2, 1}},
       2,
       0,
       "It ends when all 4 pods have finished: Completed if at least 2 succeed, and of each task its minAvailable, "
       "else "
       "Failed."},
      {{{2, 2}, {2, 0}},
       2,
       0,
       "It ends when all 4 pods have finished: Completed if at least 2 succeed, and of each task its minAvailable, "
       "else Failed."},
      {{{2, 2}, {2, 2}}, 1, 0, "It ends when all 4 pods have finished: Completed if at least 1 succeed, else Failed."},
      {{{2, 0}}, 0, 0, "It is Completed when all 2 pods have finished."},
      {{{1, 1}}, 1, 0, "It ends when its pod has finished: Completed if that succeeds, else Failed."},
      {{{4, 4}}, 4, 2, "It is Completed once 2 pods have succeeded, and Failed when all 4 have finished with fewer."},
      {{{0, 0}}, 0, 0, "Scaled to zero, it never completes: scale it up or delete it."},
  };
  for (const EndRow& row : rows) {
    kube::v1::JobSpec spec;
    spec.set_min_available(row.min_available);
    if (row.min_success > 0) spec.set_min_success(row.min_success);
    for (const auto& [replicas, minimum] : row.tasks) {
      auto& task = *spec.add_tasks();
      task.set_name("t");
      task.set_replicas(replicas);
      task.set_min_available(minimum);
      task.set_template_json(R"({"spec":{"restartPolicy":"OnFailure"}})");
    }
    EXPECT_EQ(EndOf(spec, ShapeOf(spec)), row.end);
    if (spec.tasks(0).replicas() == 0) continue;
    kube::v1::JobSpec with_policy = spec;
    with_policy.mutable_tasks(0)->add_policies()->set_action("CompleteJob");
    std::string end = row.end;
    end[0] = 'i';
    EXPECT_EQ(EndOf(with_policy, ShapeOf(with_policy)), "Unless a policy comes first, " + end);
    if (row.min_success > 0) continue;
    for (kube::v1::JobSpec* always : {&spec, &with_policy}) {
      always->mutable_tasks(0)->set_template_json(R"({"spec":{}})");
      EXPECT_EQ(EndOf(*always, ShapeOf(*always)),
                fmt::format("It ends by {} alone: with restartPolicy Always no pod of task t ever finishes.",
                            always == &spec ? "a command" : "a policy or a command"));
    }
  }
}

TEST(ExplainTest, DeadlinesThatHoldAreExplainedUpToTenAndCountedFromThereOn) {
  struct Row {
    int moot;  // Deadlines of pods that others have replaced. They are due first.
    int holding;
    int explained;
    const char* last;
  };
  const Row rows[] = {
      {0, 0, 0, ""},
      {3, 10, 10, "AbortJob because of PodEvicted (a rule)"},
      {3, 11, 10, "and 1 later one"},
      {11, 12, 10, "and 2 later ones"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} that hold behind {}", row.holding, row.moot));
    testing::DecideFacts facts({{"t", row.moot + row.holding}});
    for (int i = 0; i < row.moot + row.holding; ++i) {
      const std::string pod = fmt::format("j-t-{}", i);
      if (i < row.moot) facts.pods.Apply(testing::MakePod(pod, "next", kube::v1::POD_PHASE_RUNNING));
      storage::v1::PendingAction deadline;
      deadline.set_event("PodEvicted");
      deadline.set_action("AbortJob");
      deadline.set_rule("a rule");
      deadline.set_pod(pod);
      deadline.set_pod_uid("before");
      deadline.set_due_ms(1000 + i);
      facts.deadlines.Add(deadline);
    }
    const std::set<std::string> busy;
    const EffectInput effects{.job = facts.job, .spec = facts.spec, .pods = facts.pods, .busy = busy};
    const StatusMessage none;
    const Problems problems;
    const auto explanation = Explain({.effects = effects,
                                      .refusal = none,
                                      .warning = none,
                                      .problems = problems,
                                      .status_problem = none,
                                      .pending = facts.pending,
                                      .deadlines = facts.deadlines});
    std::vector<std::string> messages;
    for (const job::v1::Cause& cause : explanation.causes()) {
      if (cause.kind() == job::v1::Cause::KIND_DEADLINE) messages.push_back(cause.message());
    }
    const size_t more = row.holding > row.explained ? 1 : 0;
    ASSERT_EQ(messages.size(), static_cast<size_t>(row.explained) + more);
    EXPECT_EQ(messages.empty() ? "" : messages.back(), row.last);
  }
}

TEST(ExplainTest, APathOfAFieldStaysAsItIsWritten) {
  EXPECT_EQ(Sentence("spec.tasks[0].name is missing"), "spec.tasks[0].name is missing.");
  EXPECT_EQ(Sentence("metadata.name is missing"), "metadata.name is missing.");
  EXPECT_EQ(Sentence("pods are being made"), "Pods are being made.");
}

}  // namespace
}  // namespace basalt::jobsvc
