#pragma once

// Tells every container its pod's index in the task (job spec 11.3). Takes no arguments.
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class EnvPlugin : public Plugin {
 public:
  explicit EnvPlugin(const PluginArguments& arguments) { complaint_ = Arguments().Parse(arguments); }
  std::string_view Name() const override { return "env"; }
  std::vector<WantedObject> Objects(const JobView&) const override { return {}; }
  absl::Status OnPod(PodEdit& pod) const override;
};

}  // namespace basalt::jobsvc
