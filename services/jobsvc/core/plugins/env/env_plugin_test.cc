#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

TEST(EnvPluginTest, AppendsTheIndexTwiceToEveryContainer) {
  const auto plugin = MakePlugin("env");
  const JobView job = TestView(TestJob(
      "j", {{"t", 3, R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]},{"name":"b","env":null}],
                                 "initContainers":[{"name":"i"}]}})"}}));
  ExpectJson(EditedPod(*plugin, job, 12), R"({"spec":{"containers":[
      {"name":"a","env":[{"name":"X","value":"1"},{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]},
      {"name":"b","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}],
    "initContainers":[{"name":"i","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}]}})");
}

TEST(EnvPluginTest, WantsNoObjects) {
  EXPECT_TRUE(MakePlugin("env")->Objects(TestView(TestJob("j", {{"t"}}))).empty());
}

}  // namespace
}  // namespace basalt::jobsvc
