#pragma once

// Gives the pods of a job stable host names, and each pod the names of all others (job spec 11.4).
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

// The folder in which every container finds the hosts of the tasks.
inline constexpr std::string_view kSvcMountPath = "/etc/volcano";

class SvcPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "svc"; }
  std::string_view Summary() const override {
    return "Gives the pods stable host names, tells each of them all others, and keeps other pods out.";
  }
  // Returns ConfigMap, Service and (unless disabled) NetworkPolicy. The ConfigMap follows scaling, also of a Pending
  // job (W29).
  std::vector<WantedObject> Objects(const JobView& job) const override;
  absl::Status OnPod(PodEdit& pod) const override;
  std::vector<PodVariable> Variables(const JobView& job) const override;
  // Checks that the hosts of each task fit into one variable, if they are injected.
  absl::Status Check(const JobView& job) const override;

 protected:
  void Define(Arguments& arguments) override;

 private:
  bool publish_not_ready_addresses_ = false;
  bool disable_network_policy_ = false;
  bool inject_hosts_env_ = true;
};

}  // namespace basalt::jobsvc
