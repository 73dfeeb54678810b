#include "common/kube/resources/min_resources.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::kube {
namespace {

using Texts = std::map<std::string, std::string>;

Texts ToTexts(const ResourceMap& map) {
  Texts texts;
  for (const auto& [name, value] : map) texts[name] = value.Text();
  return texts;
}

void AddTask(v1::JobSpec& spec, std::string_view name, int32_t replicas, std::optional<int32_t> min_available,
             std::string_view priority_class, std::string_view requests) {
  v1::TaskSpec* task = spec.add_tasks();
  task->set_name(std::string(name));
  task->set_replicas(replicas);
  if (min_available) task->set_min_available(*min_available);
  task->set_template_json(fmt::format(
      R"({{"spec":{{"priorityClassName":"{}","containers":[{{"name":"c","resources":{{"requests":{}}}}}]}}}})",
      priority_class, requests));
}

int32_t Priority(std::string_view name) { return name == "high" ? 1000 : 0; }

// This is the worked example of job spec 9.10.
v1::JobSpec DriverAndExecutor(int32_t min_available) {
  v1::JobSpec spec;
  spec.set_min_available(min_available);
  AddTask(spec, "executor", 5, 2, "", R"({"cpu":"1","memory":"2Gi","nvidia.com/gpu":"1"})");
  AddTask(spec, "driver", 1, 1, "high", R"({"cpu":"2","memory":"4Gi"})");
  return spec;
}

TEST(MinResourcesTest, MinimumsFirstThenTheRestByPriority) {
  const auto sum = MinResources(DriverAndExecutor(4), Priority);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(ToTexts(*sum), (Texts{{"cpu", "5"},
                                  {"requests.cpu", "5"},
                                  {"memory", "10Gi"},
                                  {"requests.memory", "10Gi"},
                                  {"nvidia.com/gpu", "3"},
                                  {"requests.nvidia.com/gpu", "3"},
                                  {"pods", "4"},
                                  {"count/pods", "4"}}));
}

TEST(MinResourcesTest, BelowTheSumOfMinimumsPriorityAloneDecides) {
  const auto sum = MinResources(DriverAndExecutor(2), Priority);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(ToTexts(*sum), (Texts{{"cpu", "3"},
                                  {"requests.cpu", "3"},
                                  {"memory", "6Gi"},
                                  {"requests.memory", "6Gi"},
                                  {"nvidia.com/gpu", "1"},
                                  {"requests.nvidia.com/gpu", "1"},
                                  {"pods", "2"},
                                  {"count/pods", "2"}}));
}

// The rows are those of job spec, appendix B. "-" there is the value that defaulting sets: replicas.
struct Row {
  std::string name;
  int32_t min_available;
  int32_t master;
  int32_t work;
  std::string cpu;
};

class MinResourcesTableTest : public testing::TestWithParam<Row> {};

TEST_P(MinResourcesTableTest, FollowsAppendixB) {
  const Row& row = GetParam();
  v1::JobSpec spec;
  spec.set_min_available(row.min_available);
  AddTask(spec, "master", 2, row.master, "high", R"({"cpu":"50m"})");
  AddTask(spec, "work", 2, row.work, "", R"({"cpu":"100m"})");
  const auto sum = MinResources(spec, Priority);
  ASSERT_TRUE(sum.ok()) << sum.status();
  const std::string pods = fmt::format("{}", row.min_available);
  EXPECT_EQ(ToTexts(*sum), (Texts{{"cpu", row.cpu}, {"requests.cpu", row.cpu}, {"pods", pods}, {"count/pods", pods}}));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, MinResourcesTableTest,
    testing::Values(Row{"Job2Master1Work2", 2, 1, 2, "100m"}, Row{"Job2Master2Work1", 2, 2, 1, "100m"},
                    Row{"Job2Master1Work1", 2, 1, 1, "150m"}, Row{"Job3Master2Work2", 3, 2, 2, "200m"},
                    Row{"Job3Master1Work1", 3, 1, 1, "200m"}, Row{"Job3Master1Work2", 3, 1, 2, "250m"},
                    Row{"Job3Master2Work1", 3, 2, 1, "200m"}),
    [](const auto& row) { return row.param.name; });

TEST(MinResourcesTest, EdgesTakeNoMoreThanThereIs) {
  EXPECT_TRUE(MinResources(DriverAndExecutor(0), Priority)->empty());
  EXPECT_EQ(ToTexts(*MinResources(DriverAndExecutor(99), Priority))["pods"], "6");
  // A task without a minimum takes part only in the second pass.
  v1::JobSpec spec;
  spec.set_min_available(3);
  AddTask(spec, "a", 2, std::nullopt, "", R"({"cpu":"1"})");
  AddTask(spec, "b", 1, 1, "", R"({"cpu":"10"})");
  EXPECT_EQ(ToTexts(*MinResources(spec, Priority))["cpu"], "12");
  EXPECT_TRUE(MinResources(v1::JobSpec(), Priority)->empty());
}

TEST(MinResourcesTest, ALimitWithoutARequestIsReserved) {
  v1::JobSpec spec;
  spec.set_min_available(2);
  AddTask(spec, "a", 2, 2, "", "{}");
  spec.mutable_tasks(0)->set_template_json(
      R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]}})");
  Texts texts = ToTexts(*MinResources(spec, Priority));
  EXPECT_EQ(texts["cpu"], "4");
  EXPECT_EQ(texts["requests.cpu"], "4");
  EXPECT_EQ(texts["nvidia.com/gpu"], "2");
}

TEST(MinResourcesTest, EqualPrioritiesKeepTheManifestsOrder) {
  v1::JobSpec spec;
  spec.set_min_available(1);
  AddTask(spec, "a", 1, 1, "", R"({"cpu":"1"})");
  AddTask(spec, "b", 1, 1, "", R"({"cpu":"10"})");
  EXPECT_EQ(ToTexts(*MinResources(spec, Priority))["cpu"], "1");
}

TEST(MinResourcesTest, ABadQuantityNamesItsTask) {
  v1::JobSpec spec;
  AddTask(spec, "a", 1, 1, "", R"({"cpu":"lots"})");
  const auto sum = MinResources(spec, Priority);
  ASSERT_EQ(sum.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(sum.status().message()).find("spec.tasks[0].template: containers[0].resources.requests.cpu"),
            std::string::npos)
      << sum.status();
}

}  // namespace
}  // namespace basalt::kube
