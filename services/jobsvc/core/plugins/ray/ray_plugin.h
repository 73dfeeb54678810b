#pragma once

// Ray: the head's container starts the head, the workers' containers join it, and a Service leads to the head (job spec
// 11.9). Such a job has svc, too (2.1 D9).
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

// The longest name of a job with ray: <job>-head-svc is a DNS label.
inline constexpr size_t kMaxNameWithRay = 54;

class RayPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "ray"; }
  std::string_view Summary() const override {
    return "Starts a Ray cluster: the head, the workers that join it, and a Service that leads to the head.";
  }
  const std::string& head() const { return head_; }
  // Returns the Service <job>-head-svc.
  std::vector<WantedObject> Objects(const JobView& job) const override;
  absl::Status OnPod(PodEdit& pod) const override;
  // Checks that the ports of the Service differ.
  absl::Status Check(const JobView& job) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;

 protected:
  void Define(Arguments& arguments) override;

 private:
  // Returns the head's ports, by the names that its container and the Service give them.
  std::vector<std::pair<std::string_view, int64_t>> Ports() const;
  std::vector<std::string> PortsOfOtherNames(const TaskView& head) const;

  std::string head_ = "head";
  std::string head_container_ = "head";
  std::string worker_ = "worker";
  std::string worker_container_ = "worker";
  int64_t port_ = 6379;
  int64_t dashboard_port_ = 8265;
  int64_t client_port_ = 10001;
};

}  // namespace basalt::jobsvc
