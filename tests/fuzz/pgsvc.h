#pragma once

// pgsvc for ServiceRun: its controller, the calls of its clients and of jobsvc, and its records.
#include <memory>
#include <string>
#include <utility>

#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/watch_part.h"
#include "services/pgsvc/api/pod_group_api.h"
#include "services/pgsvc/api/pod_group_watch.h"
#include "services/pgsvc/control/pod_group_router.h"
#include "services/pgsvc/store/group_history.h"
#include "tests/fuzz/service.h"

namespace basalt::fuzz {

class PgsvcRun final : public ServiceRun {
 public:
  explicit PgsvcRun(Input& input) : ServiceRun(input, gateway::v1::SERVICE_KIND_POD_GROUP) {}

 private:
  std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context) override {
    auto controller = std::make_unique<pgsvc::PodGroupController>(context, pgsvc::GroupingOptions());
    runtime::PublishChanges<pgsvc::WatchedPodGroups>(*controller, *hub_);
    return controller;
  }
  void MakeApi(runtime::Replica& replica) override {
    workers_ = std::make_unique<runtime::TypedReplica<pgsvc::PodGroupController>>(replica);
    api_ = std::make_unique<pgsvc::PodGroupApi>(*workers_, hub_);
    router_ = std::make_unique<pgsvc::PodGroupRouter>(replica);
  }
  void DropApi() override {
    api_.reset();
    router_.reset();
  }

  void Call() override {
    using namespace podgroup::v1;  // NOLINT: only messages.
    switch (input().Below(9)) {
      case 0:
        return api_->Get(Asked<GetPodGroupRequest>(), Ignored<PodGroup>());
      case 1:
        return api_->ListPart(Asked<ListPartRequest>(), Ignored<ListPartResponse>());
      case 2:
        return api_->ListGroupingRules({}, Ignored<ListGroupingRulesResponse>());
      case 3:
        return api_->TryGrouping(Asked<TryGroupingRequest>(), Ignored<TryGroupingResponse>());
      case 4:
        return api_->ExplainGrouping(Asked<ExplainGroupingRequest>(), Ignored<ExplainGroupingResponse>());
      case 5:
        return api_->History(Asked<GetPodGroupHistoryRequest>(), Ignored<PodGroupHistory>());
      case 6:
        return router_->EnsurePodGroup(Asked<EnsurePodGroupRequest>(), Ignored<EnsurePodGroupResponse>());
      case 7:
        return router_->DeletePodGroup(Asked<DeletePodGroupRequest>(), Ignored<DeletePodGroupResponse>());
      default:
        return Drain(api_->WatchPart(Asked<WatchPartRequest>(), [] {}));
    }
  }

  void PutRecord(uint32_t slot, const std::string& key, kv::WriteBatch& batch) override {
    if (input().OneIn(4)) return pgsvc::GroupHistory::Begin(slot, key, key, input().Number(), batch);
    pgsvc::GroupHistory::Put(slot, key, input().Make<storage::v1::PodGroupHistoryRecord>(), batch);
  }

  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  std::unique_ptr<pgsvc::Workers> workers_;
  std::unique_ptr<pgsvc::PodGroupApi> api_;
  std::unique_ptr<pgsvc::PodGroupRouter> router_;
};

}  // namespace basalt::fuzz
