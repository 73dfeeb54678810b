#include "kubesim/actors/workloads/workloads.h"

#include <fmt/format.h>

namespace basalt::actors {
namespace {

constexpr WorkloadKind kReplicaSets{"apps/v1", "ReplicaSet", "replicasets", "/api/v1",
                                    "pods",    PodChild,     PlanReplicaSet};
constexpr WorkloadKind kDeployments{"apps/v1",     "Deployment",    "deployments", "/apis/apps/v1",
                                    "replicasets", ReplicaSetChild, PlanDeployment};
constexpr WorkloadKind kStatefulSets{"apps/v1", "StatefulSet", "statefulsets", "/api/v1",
                                     "pods",    PodChild,      PlanStatefulSet};
constexpr WorkloadKind kJobs{"batch/v1", "Job", "jobs", "/api/v1", "pods", PodChild, PlanJob};

InformerOptions All(const WorkloadKind& kind, const WorkloadsOptions& options) {
  InformerOptions informer;
  informer.path = fmt::format("/apis/{}/{}", kind.api_version, kind.plural);
  informer.user_agent = options.api.user_agent;
  return informer;
}

}  // namespace

Workloads::Workloads(Loop& loop, http::Client& client, Random& random, Informer& pods, const WorkloadsOptions& options)
    : api_(loop, client, random, options.api),
      replica_sets_(loop, client, random, All(kReplicaSets, options)),
      deployments_(loop, client, random, All(kDeployments, options)),
      stateful_sets_(loop, client, random, All(kStatefulSets, options)),
      jobs_(loop, client, random, All(kJobs, options)) {
  const auto add = [&](Informer& owners, Informer& children, const WorkloadKind& kind) {
    controllers_.push_back(std::make_unique<WorkloadController>(loop, api_, owners, children, kind));
  };
  add(replica_sets_, pods, kReplicaSets);
  add(deployments_, replica_sets_, kDeployments);
  add(stateful_sets_, pods, kStatefulSets);
  add(jobs_, pods, kJobs);
}

void Workloads::Start() {
  for (Informer* const informer : {&replica_sets_, &deployments_, &stateful_sets_, &jobs_}) informer->Start();
}

}  // namespace basalt::actors
