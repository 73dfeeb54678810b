#pragma once

// Gives every container its pod's index in the task (job spec 11.3). Takes no arguments.
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class EnvPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "env"; }
  std::string_view Summary() const override { return "Tells every container the index of its pod in the task."; }
  absl::Status OnPod(PodEdit& pod) const override;
  std::vector<PodVariable> Variables(const JobView& job) const override;

 protected:
  void Define(Arguments&) override {}
};

}  // namespace basalt::jobsvc
