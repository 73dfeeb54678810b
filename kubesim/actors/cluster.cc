#include "kubesim/actors/cluster.h"

#include <utility>

namespace basalt::actors {
namespace {

InformerOptions AllPods() {
  InformerOptions options;
  options.path = "/api/v1/pods";
  return options;
}

}  // namespace

Cluster::Cluster(Loop& loop, http::Client& client, Random& random, ClusterOptions options)
    : pods_(loop, client, random, AllPods()) {
  if (options.run_nodes) {
    nodes_ = std::make_unique<NodeActor>(loop, client, random, pods_, std::move(options.nodes));
    nodes_->Start();
  }
  if (options.run_scheduler) {
    scheduler_ = std::make_unique<GangScheduler>(loop, client, random, pods_, std::move(options.scheduler));
    scheduler_->Start();
  }
  if (options.run_workloads) {
    workloads_ = std::make_unique<Workloads>(loop, client, random, pods_, options.workloads);
    workloads_->Start();
  }
  if (options.run_nodes || options.run_scheduler || options.run_workloads) pods_.Start();
}

}  // namespace basalt::actors
