#include "services/pgsvc/main/parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/rpc/grpc/peers/podgroup.h"
#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/watch_part.h"
#include "services/pgsvc/api/pod_group_query_service.h"
#include "services/pgsvc/api/pod_group_watch.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/control/pod_group_router.h"

namespace basalt::pgsvc {
namespace {

// The gRPC service together with the router that it calls.
class RoutedService final : public rpc::GrpcService {
 public:
  RoutedService(runtime::Replica& replica, Loop& loop, std::shared_ptr<rpc::InflightLimiter> limiter)
      : router_(replica), service_(rpc::MakePodGroupService(loop, router_, std::move(limiter))) {}
  void Register(grpc::ServerBuilder& builder) override { service_->Register(builder); }
  void Drain() override { service_->Drain(); }

 private:
  PodGroupRouter router_;
  const std::unique_ptr<rpc::GrpcService> service_;
};

}  // namespace

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health&) {
  return MakePartsWith(metrics, {}, watch::WatchHub::kMaxWatches);
}

shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const GroupingOptions& options, size_t max_watches,
                                  RuleOptions rules) {
  const auto hub = std::make_shared<watch::WatchHub>(max_watches);
  shell::ServiceParts parts;
  parts.make_controller = [hub, &metrics, options, rules](runtime::Context& context) {
    auto controller = std::make_unique<PodGroupController>(context, options, history::Limits(), &metrics, rules);
    runtime::PublishChanges<WatchedPodGroups>(*controller, *hub);
    return controller;
  };
  parts.make_services = [hub, rules = std::move(rules)](runtime::Replica& replica, Loop& api_loop,
                                                        std::unique_ptr<rpc::Members> members,
                                                        std::shared_ptr<rpc::InflightLimiter> limiter) {
    std::vector<std::unique_ptr<rpc::GrpcService>> services;
    services.push_back(std::make_unique<RoutedService>(replica, api_loop, limiter));
    auto queries = MakeQueryServices(api_loop, std::move(limiter),
                                     std::make_unique<runtime::TypedReplica<PodGroupController>>(replica),
                                     std::move(members), hub, rules);
    std::move(queries.begin(), queries.end(), std::back_inserter(services));
    return services;
  };
  return parts;
}

}  // namespace basalt::pgsvc
