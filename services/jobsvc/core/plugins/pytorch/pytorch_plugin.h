#pragma once

// torch.distributed: the address of the first master, the number of participants, and the rank of the pod (job spec
// 11.7). Such a job has svc, too (2.1 D9).
#include <cstdint>
#include <string>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class PytorchPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "pytorch"; }
  std::string_view Summary() const override {
    return "Tells masters and workers MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK.";
  }
  absl::Status OnPod(PodEdit& pod) const override;
  absl::Status Check(const JobView& job) const override;
  std::vector<PodVariable> Variables(const JobView& job) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;

 protected:
  void Define(Arguments& arguments) override;

 private:
  // Adds a container to a worker that waits until the first master listens.
  void AddWait(PodEdit& pod, std::string_view master_host) const;

  std::string master_ = "master";
  std::string worker_ = "worker";
  int64_t port_ = 23456;
  bool waits_for_master_ = false;
  int64_t wait_seconds_ = 300;
  std::string wait_image_ = "busybox:1.36.1";
};

}  // namespace basalt::jobsvc
