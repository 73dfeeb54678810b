#pragma once

// The controllers of a simulated cluster's workloads. They make the pods of ReplicaSets, Deployments, StatefulSets and
// Jobs, as kube-controller-manager does. A plain API client.
#include <memory>
#include <vector>

#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/workloads/workload_controller.h"

namespace basalt::actors {

struct WorkloadsOptions {
  ApiOptions api;
};

// Confined to one loop. `pods` is an informer of all pods. Its owner starts it after this object has been constructed.
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
