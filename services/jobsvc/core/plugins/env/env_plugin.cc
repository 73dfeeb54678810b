#include "services/jobsvc/core/plugins/env/env_plugin.h"

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kNames[] = {"VK_TASK_INDEX", "VC_TASK_INDEX"};
constexpr auto kContainers = PodEdit::Containers::kNormalAndInit;

}  // namespace

absl::Status EnvPlugin::OnPod(PodEdit& pod) const {
  std::vector<json::object> variables;
  for (const std::string_view name : kNames) variables.push_back({{"name", ToJson(name)}, {"value", pod.Index()}});
  pod.AddEnv(kContainers, variables);
  return absl::OkStatus();
}

std::vector<PodVariable> EnvPlugin::Variables(const JobView&) const {
  std::vector<PodVariable> variables;
  for (const std::string_view name : kNames) variables.push_back({std::string(name), {}, kContainers});
  return variables;
}

}  // namespace basalt::jobsvc
