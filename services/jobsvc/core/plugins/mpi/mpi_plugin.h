#pragma once

// Open MPI: the master's pods get the hosts of all workers, and every pod exposes the port of ssh (job spec 11.6). Such
// a job has svc and ssh, too (2.1 D9, D10).
#include <cstdint>
#include <string>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class MpiPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "mpi"; }
  std::string_view Summary() const override { return "Tells the master the hosts of all workers, in MPI_HOST."; }
  const std::string& master() const { return master_; }
  const std::string& worker() const { return worker_; }
  absl::Status OnPod(PodEdit& pod) const override;
  absl::Status Check(const JobView& job) const override;
  std::vector<PodVariable> Variables(const JobView& job) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;

 protected:
  void Define(Arguments& arguments) override;

 private:
  // Returns the hosts of all workers, joined by commas.
  std::string HostsOfWorkers(const JobView& job) const;

  std::string master_ = "master";
  std::string worker_ = "worker";
  int64_t port_ = 22;
};

}  // namespace basalt::jobsvc
