#pragma once

// tf.distribute: every container gets the cluster and its own place in it, in TF_CONFIG (job spec 11.8). Such a job has
// svc, too (2.1 D9).
#include <cstdint>
#include <string>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class TensorflowPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "tensorflow"; }
  std::string_view Summary() const override {
    return "Tells every container the cluster and its own place in it, in TF_CONFIG.";
  }
  absl::Status OnPod(PodEdit& pod) const override;
  absl::Status Check(const JobView& job) const override;
  std::vector<PodVariable> Variables(const JobView& job) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;

 protected:
  void Define(Arguments& arguments) override;

 private:
  json::object ClusterOf(const JobView& job) const;
  // `cluster` is the result of ClusterOf as JSON. `index` is the pod's index in decimal.
  std::string Config(std::string_view cluster, const TaskView& task, std::string_view index) const;
  std::string_view TypeOf(std::string_view task) const;

  std::string ps_ = "ps";
  std::string worker_ = "worker";
  std::string chief_ = "chief";
  std::string evaluator_ = "evaluator";
  int64_t port_ = 2222;
};

}  // namespace basalt::jobsvc
