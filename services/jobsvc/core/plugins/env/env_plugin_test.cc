#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

// Kubernetes resolves a reference to an earlier variable.
TEST(EnvPluginTest, TheIndexStandsTwiceBeforeTheVariablesOfEveryContainer) {
  const auto plugin = MakePlugin("env");
  const JobView job = JobWith({{"t", 3, R"json({"spec":{
      "containers":[{"name":"a","env":[{"name":"X","value":"$(VC_TASK_INDEX)"}]},{"name":"b","env":null}],
      "initContainers":[{"name":"i"}]}})json"}});
  ExpectJson(EditedPod(*plugin, job, 12), R"json({"spec":{"containers":[
      {"name":"a","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"},
                         {"name":"X","value":"$(VC_TASK_INDEX)"}]},
      {"name":"b","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}],
    "initContainers":[{"name":"i","env":[{"name":"VK_TASK_INDEX","value":"12"},{"name":"VC_TASK_INDEX","value":"12"}]}]}})json");
}

}  // namespace
}  // namespace basalt::jobsvc
