#include <gtest/gtest.h>

#include <iterator>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

std::string Variable(const std::string& config) {
  return R"({"name":"TF_CONFIG","value":)" + ToText(json::value(ToJson(config))) + "}";
}

// Returns the pod that tensorflow makes from kTestTemplate: the init container has no TF_CONFIG.
std::string Pod(const std::string& config) {
  return R"({"spec":{"containers":[{"name":"c","env":[)" + Variable(config) +
         R"(]}],"initContainers":[{"name":"i"}]}})";
}

// `cluster` and `task` are members.
std::string Config(const std::string& cluster, const std::string& task) {
  return R"({"cluster":{)" + cluster + R"(},"task":{)" + task + "}}";
}

TEST(TensorflowPluginTest, TellsEveryPodTheClusterAndItsPlaceInIt) {
  const auto plugin = MakePlugin("tensorflow");
  const JobView job = JobWith({{"other", 1}, {"evaluator", 1}, {"chief", 1}, {"worker", 2}, {"ps", 2}, {"ps-2", 1}});
  const std::string cluster =
      R"("ps":["j-ps-0.j:2222","j-ps-1.j:2222"],"worker":["j-worker-0.j:2222","j-worker-1.j:2222"],)"
      R"("chief":["j-chief-0.j:2222"],"evaluator":["j-evaluator-0.j:2222"])";
  struct Row {
    size_t task;
    int32_t index;
    std::string place;
  };
  for (const Row& row : {Row{0, 0, R"("type":"other","index":0)"}, Row{1, 0, R"("type":"evaluator","index":0)"},
                         Row{2, 0, R"("type":"chief","index":0)"}, Row{3, 0, R"("type":"worker","index":0)"},
                         Row{3, 1, R"("type":"worker","index":1)"}, Row{3, 120, R"("type":"worker","index":120)"},
                         Row{4, 1, R"("type":"ps","index":1)"}, Row{5, 0, R"("type":"ps-2","index":0)"}}) {
    ExpectJson(EditedPod(*plugin, job, row.task, row.index), Pod(Config(cluster, row.place)));
  }
}

TEST(TensorflowPluginTest, WhoComputesAloneIsToldNothing) {
  for (const char* const name : {"worker", "other"}) {
    ExpectJson(EditedPod(*MakePlugin("tensorflow"), JobWith({{name, 1}}), 0), kTestTemplate);
  }
}

TEST(TensorflowPluginTest, OneTaskOfSeveralReplicasIsACluster) {
  const JobView job = JobWith({{"worker", 2}});
  ExpectJson(EditedPod(*MakePlugin("tensorflow"), job, 1),
             Pod(Config(R"("worker":["j-worker-0.j:2222","j-worker-1.j:2222"])", R"("type":"worker","index":1)")));
}

TEST(TensorflowPluginTest, ATaskWithoutReplicasIsNotInTheCluster) {
  const JobView job = JobWith({{"worker", 1}, {"ps", 0}});
  ExpectJson(EditedPod(*MakePlugin("tensorflow"), job, 0),
             Pod(Config(R"("worker":["j-worker-0.j:2222"])", R"("type":"worker","index":0)")));
  const JobView idle = JobWith({{"worker", 0}});
  ExpectJson(EditedPod(*MakePlugin("tensorflow"), idle, 0), Pod(Config("", R"("type":"worker","index":0)")));
}

TEST(TensorflowPluginTest, TasksOfOtherNamesAreAnEmptyCluster) {
  const JobView job = JobWith({{"a", 1}, {"b", 1}});
  ExpectJson(EditedPod(*MakePlugin("tensorflow"), job, 1, 0), Pod(Config("", R"("type":"b","index":0)")));
}

TEST(TensorflowPluginTest, ArgumentsNameTheTasksAndThePort) {
  const auto plugin = MakePlugin(
      "tensorflow", Words({"--ps=server", "--worker=node", "--chief=boss", "--evaluator=judge", "--port=5000"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = JobWith({{"server", 1}, {"node", 1}, {"boss", 1}, {"judge", 1}, {"worker", 1}, {"ps", 1}});
  const std::string cluster = R"("ps":["j-server-0.j:5000"],"worker":["j-node-0.j:5000"],"chief":["j-boss-0.j:5000"],)"
                              R"("evaluator":["j-judge-0.j:5000"])";
  const char* const types[] = {"ps", "worker", "chief", "evaluator", "worker", "ps"};
  for (size_t task = 0; task < std::size(types); ++task) {
    ExpectJson(EditedPod(*plugin, job, task, 0),
               Pod(Config(cluster, R"("type":")" + std::string(types[task]) + R"(","index":0)")));
  }
}

TEST(TensorflowPluginTest, DoubtsAJobOfWhichNoTaskIsInTheCluster) {
  const JobView others = JobWith({{"a", 1}, {"b", 1}});
  ExpectDoubts(
      "tensorflow",
      {DoubtRow{{}, JobWith({{"ps", 2}, {"worker", 2}}), {}}, DoubtRow{{}, JobWith({{"a", 1}, {"chief", 1}}), {}},
       DoubtRow{{}, JobWith({{"a", 1}, {"evaluator", 1}}), {}}, DoubtRow{{}, JobWith({{"a", 1}}), {}},
       DoubtRow{{}, JobWith({{"a", 2}}), {"of which none exists"}},
       DoubtRow{{}, others, {"for the tasks 'ps', 'worker', 'chief' and 'evaluator', of which none exists"}},
       DoubtRow{Words({"--worker=b"}), others, {}},
       DoubtRow{Words({"--ps=x", "--chief=y"}), others, {"for the tasks 'x', 'worker', 'y' and 'evaluator'"}}});
}

// With the longest index 5743 workers are 131057 bytes with the variable's name, 5744 are 131080; Linux takes 131071.
TEST(TensorflowPluginTest, RefusesAClusterThatIsTooLongForAVariable) {
  const auto plugin = MakePlugin("tensorflow");
  const auto job = [](int32_t workers) { return JobWith({{"worker", workers}}); };
  EXPECT_TRUE(plugin->Check(job(0)).ok());
  EXPECT_TRUE(plugin->Check(job(1)).ok());
  EXPECT_TRUE(plugin->Check(job(5743)).ok()) << plugin->Check(job(5743));
  ExpectInvalid(plugin->Check(job(5744)), "sets the variable TF_CONFIG of 131080 bytes");
  EXPECT_TRUE(MakePlugin("tensorflow", Words({"--worker=other"}))->Check(job(5744)).ok()) << "an empty cluster";
}

}  // namespace
}  // namespace basalt::jobsvc
