#pragma once

// The actors that turn an API server into a cluster. They share one client and one watch of pods.
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

  NodeActor* nodes() { return nodes_.get(); }              // Null if the options do not request nodes.
  GangScheduler* scheduler() { return scheduler_.get(); }  // Null if the options do not request a scheduler.

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
