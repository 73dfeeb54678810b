#pragma once

// Gives the pods of a job stable host names and tells each of them all others (job spec 11.4).
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class SvcPlugin : public Plugin {
 public:
  explicit SvcPlugin(const PluginArguments& arguments);
  std::string_view Name() const override { return "svc"; }
  // ConfigMap, Service, NetworkPolicy (unless disabled). The ConfigMap follows scaling, also of a Pending job (W29).
  std::vector<WantedObject> Objects(const JobView& job) const override;
  absl::Status OnPod(PodEdit& pod) const override;

 private:
  bool publish_not_ready_addresses_ = false;
  bool disable_network_policy_ = false;
  bool inject_hosts_env_ = true;
};

}  // namespace basalt::jobsvc
