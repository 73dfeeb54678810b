// The worked example of docs/recipes/plugin.md: a ninth plugin as somebody would write it, and its test.
#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/core/plugins/plugin_test_util.h"

namespace basalt::jobsvc {
namespace {

// Gives every container the number of pods of its task, in a variable that an argument names.
class CountPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "count"; }
  std::string_view Summary() const override { return "Tells every container how many pods its task has."; }
  absl::Status OnPod(PodEdit& pod) const override {
    pod.AddEnv(PodEdit::Containers::kNormal, {{{"name", variable_}, {"value", std::to_string(pod.task().replicas)}}});
    return absl::OkStatus();
  }
  std::vector<PodVariable> Variables(const JobView&) const override { return {{variable_}}; }

 protected:
  void Define(Arguments& arguments) override { arguments.Flag("variable", &variable_, "The name of the variable"); }

 private:
  std::string variable_ = "TASK_PODS";
};

TEST(CountPluginTest, TellsEveryContainerHowManyPodsThereAre) {
  const JobView job = JobWith({{"t", 3}});
  CountPlugin plugin;
  ExpectJson(EditedPod(plugin, job, 0), R"({"spec":{"containers":[{"name":"c","env":[
      {"name":"TASK_PODS","value":"3"}]}],"initContainers":[{"name":"i"}]}})");
  plugin.Read(Words({"--variable=N"}));
  EXPECT_EQ(plugin.ArgumentComplaint(), "");
  ExpectJson(EditedPod(plugin, job, 0), R"({"spec":{"containers":[{"name":"c","env":[
      {"name":"N","value":"3"}]}],"initContainers":[{"name":"i"}]}})");
}

}  // namespace
}  // namespace basalt::jobsvc
