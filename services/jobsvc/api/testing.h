#pragma once

// The workers of handlers under test: controllers over small API servers, each with the jobs of its slots.
#include <utility>
#include <vector>

#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

class RigWorkers : public Workers {
 public:
  explicit RigWorkers(std::vector<JobRig*> rigs) : rigs_(std::move(rigs)) {}
  size_t count() const override { return rigs_.size(); }
  void OnWorkerOf(uint32_t slot, Task task) override { OnWorker(slot % rigs_.size(), std::move(task)); }
  void OnWorker(size_t worker, Task task) override {
    JobController& controller = rigs_[worker]->controller();
    controller.context().loop().Post([&controller, task = std::move(task)]() mutable { task(controller); });
  }

 private:
  std::vector<JobRig*> rigs_;
};

}  // namespace basalt::jobsvc::testing
