#include "services/queuesvc/main/parts.h"

#include "services/queuesvc/api/queue_api.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health&) {
  shell::ServiceParts parts;
  parts.make_controller = [&metrics](runtime::Context& context) {
    return std::make_unique<QueueController>(context, &metrics, QueueControllerOptions());
  };
  parts.make_services = [](runtime::Replica& replica, Loop& api_loop) {
    std::vector<std::unique_ptr<rpc::GrpcService>> services;
    services.push_back(MakeQueueService(replica, api_loop));
    return services;
  };
  return parts;
}

}  // namespace basalt::queuesvc
