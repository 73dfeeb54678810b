#include "services/jobsvc/core/render/job_status_json.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobStatus;

JobStatus Parse(const std::string& text) {
  JobStatus status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status)) << text;
  return status;
}

struct Row {
  std::string name;
  std::string observed;
  std::string wanted;
  std::string patch;  // Patch of the status. Empty if nothing differs.
};

class JobStatusPatchTest : public testing::TestWithParam<Row> {};

TEST_P(JobStatusPatchTest, NamesWhatChanged) {
  const std::string patch = JobStatusPatch(Parse(GetParam().observed), Parse(GetParam().wanted));
  if (GetParam().patch.empty()) {
    EXPECT_EQ(patch, "");
  } else {
    ExpectJson(patch, R"({"status":)" + GetParam().patch + "}");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JobStatusPatchTest,
    testing::Values(
        Row{"NothingAtAll", "", "", ""},
        Row{"EqualCountsAndZeros", "counts{running:2} min_available:3", "counts{running:2} min_available:3", ""},
        Row{"FirstStatus", "",
            "phase: JOB_PHASE_PENDING last_transition_ms: 1700000000123 min_available: 3 "
            "conditions{phase: JOB_PHASE_PENDING last_transition_ms: 1700000000123}",
            R"({"state":{"phase":"Pending","lastTransitionTime":"2023-11-14T22:13:20Z"},"minAvailable":3,
                "conditions":[{"status":"Pending","lastTransitionTime":"2023-11-14T22:13:20Z"}]})"},
        Row{"TheSameSecondIsNoChange", "last_transition_ms: 1700000000000", "last_transition_ms: 1700000000999", ""},
        Row{"ZeroCountsGo", "counts{pending:2 running:1} version: 1", "counts{running:3} version: 1",
            R"({"pending":null,"running":3})"},
        Row{"AllCounts", "",
            "counts{pending:1 running:2 succeeded:3 failed:4 unknown:5 terminating:6} version:7 retry_count:8",
            R"({"pending":1,"running":2,"succeeded":3,"failed":4,"unknown":5,"terminating":6,"version":7,"retryCount":8})"},
        Row{"TaskCountsByPhase",
            "task_status_count{task:'a' counts{pending:1 running:1}} task_status_count{task:'b' counts{running:1}} "
            "task_status_count{task:'c' counts{running:1}} task_status_count{task:'same' counts{failed:1}}",
            "task_status_count{task:'a' counts{running:2}} task_status_count{task:'c' counts{terminating:1}} "
            "task_status_count{task:'d' counts{unknown:1}} task_status_count{task:'same' counts{failed:1}}",
            R"({"taskStatusCount":{"a":{"phase":{"Pending":null,"Running":2}},"b":null,"c":null,"d":{"phase":{"Unknown":1}}}})"},
        Row{"ATaskWithoutPodsHasNoEntry", "", "task_status_count{task:'a' counts{}}", ""},
        Row{"WordsComeAndGo", "reason:'Waiting' message:'for q'", "reason:'Invalid'",
            R"({"state":{"reason":"Invalid","message":null}})"},
        Row{"ResourcesByKey",
            "controlled_resources{key:'plugin-env' value:'env'} controlled_resources{key:'plugin-svc' value:'svc'} "
            "controlled_resources{key:'x' value:'1'}",
            "controlled_resources{key:'plugin-env' value:'env'} controlled_resources{key:'x' value:'2'}",
            R"({"controlledResources":{"plugin-svc":null,"x":"2"}})"},
        Row{"ConditionsAsAWholeList",
            "conditions{phase:JOB_PHASE_PENDING last_transition_ms:1000} "
            "conditions{phase:JOB_PHASE_RUNNING last_transition_ms:2000}",
            "conditions{phase:JOB_PHASE_RUNNING last_transition_ms:2000} "
            "conditions{phase:JOB_PHASE_PENDING last_transition_ms:3000}",
            R"({"conditions":[{"status":"Running","lastTransitionTime":"1970-01-01T00:00:02Z"},
                              {"status":"Pending","lastTransitionTime":"1970-01-01T00:00:03Z"}]})"},
        Row{"RunningDurationGoes", "running_duration:'10m0s'", "", R"({"runningDuration":null})"},
        Row{"RunningDurationComes", "", "running_duration:'1h0m0s'", R"({"runningDuration":"1h0m0s"})"}),
    [](const auto& row) { return row.param.name; });

std::vector<kube::v1::JobPhase> Phases(const JobStatus& status) {
  std::vector<kube::v1::JobPhase> phases;
  for (const auto& condition : status.conditions()) phases.push_back(condition.phase());
  return phases;
}

// Job spec, appendix B.
TEST(AppendConditionTest, KeepsOneEntryPerPhaseTheNewestLast) {
  using kube::v1::JOB_PHASE_COMPLETED;
  using kube::v1::JOB_PHASE_PENDING;
  using kube::v1::JOB_PHASE_RUNNING;
  JobStatus status;
  AppendCondition(status, JOB_PHASE_PENDING, 1000);
  AppendCondition(status, JOB_PHASE_RUNNING, 2000);
  JobStatus back = status;
  AppendCondition(back, JOB_PHASE_PENDING, 3000);
  EXPECT_EQ(Phases(back), (std::vector{JOB_PHASE_RUNNING, JOB_PHASE_PENDING}));
  EXPECT_EQ(back.conditions(1).last_transition_ms(), 3000);
  AppendCondition(status, JOB_PHASE_COMPLETED, 3000);
  EXPECT_EQ(Phases(status), (std::vector{JOB_PHASE_PENDING, JOB_PHASE_RUNNING, JOB_PHASE_COMPLETED}));
}

TEST(RunningDurationTest, IsInGosForm) {
  EXPECT_EQ(RunningDuration(1000, 601000), "10m0s");
  EXPECT_EQ(RunningDuration(1000, 1000), "0s");
}

}  // namespace
}  // namespace basalt::jobsvc
