#pragma once

// All actors over one client, sharing one watch of pods: what turns an API server into a cluster.
#include <memory>
#include <optional>

#include "kubesim/actors/node/node_actor.h"
#include "kubesim/actors/scheduler/gang_scheduler.h"
#include "kubesim/actors/workloads/workloads.h"

namespace basalt::actors {

struct ClusterOptions {
  bool run_nodes = true;
  bool run_scheduler = true;
  bool run_workloads = true;
  NodeActorOptions nodes;
  GangSchedulerOptions scheduler;
  WorkloadsOptions workloads;
};

// Confined to `loop`; all references outlive it.
class Cluster {
 public:
  Cluster(Loop& loop, http::Client& client, Random& random, ClusterOptions options = {});

  // Null where it was not asked for.
  NodeActor* nodes() { return nodes_.get(); }
  GangScheduler* scheduler() { return scheduler_.get(); }

 private:
  Informer pods_;
  std::unique_ptr<NodeActor> nodes_;
  std::unique_ptr<GangScheduler> scheduler_;
  std::unique_ptr<Workloads> workloads_;
};

}  // namespace basalt::actors

namespace basalt::kubesim {
using actors::Cluster;
using actors::ClusterOptions;
}  // namespace basalt::kubesim
