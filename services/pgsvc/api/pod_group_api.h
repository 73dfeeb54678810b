#pragma once

// The calls that this replica answers about its own slots, without gRPC. They may be called from any thread and run on
// the loops of the workers that own the keys. `done` is called on a worker's loop, and is dropped if the worker has
// stopped. UNAVAILABLE if the slot is not open here. Calls that concern no slot are answered at once, on the caller's
// thread.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "basalt/podgroup/v1/grouping.pb.h"
#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "common/rpc/feed.h"
#include "common/rpc/peers.h"
#include "common/runtime/typed_replica.h"
#include "common/watch/watch_hub.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

using Workers = runtime::Workers<PodGroupController>;

// Returns the routing key of the group, or of its namespace, for a group of that profile. An empty namespace is
// "default", an unspecified profile COMPAT.
std::string RoutingKeyOf(podgroup::v1::Profile profile, std::string_view ns, std::string_view name);

class PodGroupApi {
 public:
  // The workers outlive the API. `rules` are the options of the rules that group pods here.
  PodGroupApi(Workers& workers, std::shared_ptr<watch::WatchHub> hub, RuleOptions rules = {})
      : workers_(workers), hub_(std::move(hub)), rules_(std::move(rules)) {}

  void Get(podgroup::v1::GetPodGroupRequest request, rpc::Done<podgroup::v1::PodGroup> done);
  void ListPart(podgroup::v1::ListPartRequest request, rpc::Done<podgroup::v1::ListPartResponse> done);
  void ListGroupingRules(podgroup::v1::ListGroupingRulesRequest request,
                         rpc::Done<podgroup::v1::ListGroupingRulesResponse> done);
  void TryGrouping(podgroup::v1::TryGroupingRequest request, rpc::Done<podgroup::v1::TryGroupingResponse> done);
  void ExplainGrouping(podgroup::v1::ExplainGroupingRequest request,
                       rpc::Done<podgroup::v1::ExplainGroupingResponse> done);
  void History(podgroup::v1::GetPodGroupHistoryRequest request, rpc::Done<podgroup::v1::PodGroupHistory> done);
  std::unique_ptr<rpc::Feed<podgroup::v1::WatchPartResponse>> WatchPart(const podgroup::v1::WatchPartRequest& request,
                                                                        std::function<void()> notify);

 private:
  Workers& workers_;
  const std::shared_ptr<watch::WatchHub> hub_;
  const RuleOptions rules_;
};

}  // namespace basalt::pgsvc
