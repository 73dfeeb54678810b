#include "services/queuesvc/main/parts.h"

#include "common/shell/replica_members.h"
#include "services/queuesvc/api/queue_service.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health&) {
  shell::ServiceParts parts;
  parts.make_controller = [&metrics](runtime::Context& context) {
    return std::make_unique<QueueController>(context, &metrics, QueueControllerOptions());
  };
  parts.make_services = [](runtime::Replica& replica, Loop& api_loop) {
    return MakeQueueServices(replica, api_loop, std::make_unique<shell::ReplicaMembers>(replica));
  };
  return parts;
}

}  // namespace basalt::queuesvc
