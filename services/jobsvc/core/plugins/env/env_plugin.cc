#include "services/jobsvc/core/plugins/env/env_plugin.h"

namespace basalt::jobsvc {

absl::Status EnvPlugin::OnPod(PodEdit& pod) const {
  for (const std::string_view name : {"VK_TASK_INDEX", "VC_TASK_INDEX"}) {
    pod.AppendEnv(PodEdit::Containers::kNormalAndInit, {{"name", ToJson(name)}, {"value", pod.Index()}});
  }
  return absl::OkStatus();
}

}  // namespace basalt::jobsvc
