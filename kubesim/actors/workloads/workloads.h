#pragma once

// The controllers of a simulated cluster's workloads: ReplicaSets, Deployments, StatefulSets and Jobs get their pods,
// as kube-controller-manager would make them. A plain API client.
#include <memory>
#include <vector>

#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/workloads/workload_controller.h"

namespace basalt::actors {

struct WorkloadsOptions {
  ApiOptions api;
};

// Confined to one loop. `pods` is an informer of all pods, started by the owner after this has been constructed.
class Workloads {
 public:
  Workloads(Loop& loop, http::Client& client, Random& random, Informer& pods, const WorkloadsOptions& options);
  void Start();

 private:
  Api api_;
  Informer replica_sets_, deployments_, stateful_sets_, jobs_;
  std::vector<std::unique_ptr<WorkloadController>> controllers_;
};

}  // namespace basalt::actors
