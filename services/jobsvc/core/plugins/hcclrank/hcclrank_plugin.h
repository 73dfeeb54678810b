#pragma once

// HCCL: the rank of every master and worker as an annotation of the pod (job spec 11.10). The plugin makes no table of
// ranks and needs no other plugin. It works last, since it reads a variable of pytorch's.
#include <cstdint>
#include <string>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class HcclrankPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "hcclrank"; }
  std::string_view Summary() const override {
    return "Writes the rank of every master and worker into the annotation hccl/rankIndex.";
  }
  absl::Status OnPod(PodEdit& pod) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;
  bool HasMarker() const override { return false; }

 protected:
  void Define(Arguments& arguments) override;

 private:
  std::string master_ = "master";
  std::string worker_ = "worker";
};

}  // namespace basalt::jobsvc
