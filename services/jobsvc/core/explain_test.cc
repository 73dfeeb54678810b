#include "services/jobsvc/core/explain.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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
    const char* said;  // Null: nothing that a job waits for.
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

}  // namespace
}  // namespace basalt::jobsvc
