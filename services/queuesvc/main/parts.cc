#include "services/queuesvc/main/parts.h"

#include <memory>
#include <utility>

#include "common/runtime/watch/watch_part.h"
#include "services/queuesvc/api/queue_service.h"
#include "services/queuesvc/api/queue_watch.h"

namespace basalt::queuesvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health&) {
  return MakePartsWith(metrics, {}, watch::WatchHub::kMaxWatches);
}

shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const QueueControllerOptions& options, size_t max_watches) {
  const auto hub = std::make_shared<watch::WatchHub>(max_watches);
  shell::ServiceParts parts;
  parts.make_controller = [hub, &metrics, options](runtime::Context& context) {
    auto controller = std::make_unique<QueueController>(context, &metrics, options);
    runtime::PublishChanges<WatchedQueues>(*controller, *hub);
    return controller;
  };
  parts.make_services = [hub](runtime::Replica& replica, Loop& api_loop, std::unique_ptr<rpc::Members> members,
                              std::shared_ptr<rpc::InflightLimiter> limiter) {
    return MakeQueueServices(replica, api_loop, std::move(limiter), std::move(members), hub);
  };
  return parts;
}

}  // namespace basalt::queuesvc
