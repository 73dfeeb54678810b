#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

// Kubernetes resolves a reference to an earlier variable.
TEST(EnvPluginTest, TheIndexStandsTwiceBeforeTheVariablesOfEveryContainer) {
  const auto plugin = MakePlugin("env");
  const JobView job = TestView(TestJob("j", {{"t", 3, R"json({"spec":{
      "containers":[{"name":"a","env":[{"name":"X","value":"$(VC_TASK_INDEX)"}]},{"name":"b","env":null}],
      "initContainers":[{"name":"i"}]}})json"}}));
  ExpectJson(EditedPod(*plugin, job, 12), R"json({"spec":{"containers":[
      {"name":"a","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"},
                         {"name":"X","value":"$(VC_TASK_INDEX)"}]},
      {"name":"b","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}],
    "initContainers":[{"name":"i","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}]}})json");
}

TEST(EnvPluginTest, AVariableOfTheTemplateKeepsItsValueAndIsNotDoubled) {
  const JobView job = TestView(TestJob("j", {{"t", 3, R"({"spec":{
      "containers":[{"name":"a","env":[{"name":"VC_TASK_INDEX","value":"7"},{"name":"VK_TASK_INDEX","valueFrom":{}}]},
                    {"name":"b"}]}})"}}));
  ExpectJson(EditedPod(*MakePlugin("env"), job, 1), R"({"spec":{"containers":[
      {"name":"a","env":[{"name":"VC_TASK_INDEX","value":"7"},{"name":"VK_TASK_INDEX","valueFrom":{}}]},
      {"name":"b","env":[{"name":"VK_TASK_INDEX","value":"1"},{"name":"VC_TASK_INDEX","value":"1"}]}]}})");
}

TEST(EnvPluginTest, WantsNoObjects) {
  EXPECT_TRUE(MakePlugin("env")->Objects(TestView(TestJob("j", {{"t"}}))).empty());
}

}  // namespace
}  // namespace basalt::jobsvc
