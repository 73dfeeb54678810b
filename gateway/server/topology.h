#pragma once

// Shows people the state of the hub: members, slots, moves under way, watches. Confined to the hub's loop.
#include <string>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/ownership/leadership.h"
#include "gateway/route/cache.h"
#include "gateway/server/replicas.h"

namespace basalt::gateway {

struct TopologySource {
  const Leadership& leadership;
  const Replicas& replicas;
  const Cache& cache;
  absl::Time now;
};

// `version` is the gateway's. With the slots of the service `slots_of`, if there is such a service.
v1::Topology MakeTopology(const TopologySource& source, const std::string& version, v1::ServiceKind slots_of);

}  // namespace basalt::gateway
