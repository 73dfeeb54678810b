#pragma once

// Passes calls of peers about a pod group to the worker that has the group's slot, and answers from the loop of that
// worker.
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/object_key.h"
#include "common/rpc/peers.h"
#include "common/runtime/replica.h"
#include "services/pgsvc/control/group_owner.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

// May be called from any thread. `replica` runs PodGroupControllers and outlives the router.
class PodGroupRouter : public rpc::PodGroupHandler {
 public:
  explicit PodGroupRouter(runtime::Replica& replica) : replica_(replica) {}

  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
    Route(&PodGroupController::EnsurePodGroup, std::move(request), std::move(done));
  }
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
    Route(&PodGroupController::DeletePodGroup, std::move(request), std::move(done));
  }

 private:
  template <typename Request, typename Response>
  void Route(void (PodGroupController::*method)(Request, rpc::Done<Response>), Request request,
             rpc::Done<Response> done) {
    const std::string key = kube::ObjectKey(request.namespace_(), request.name());
    const absl::Status is_ours =
        CheckGroupOwner(key, replica_.OwnerOf(gateway::v1::SERVICE_KIND_POD_GROUP, key), replica_.self());
    if (!is_ours.ok()) return done(is_ours);
    replica_.OnWorkerOf(SlotOf(key), [method, request = std::move(request),
                                      done = std::move(done)](runtime::Controller& controller) mutable {
      (static_cast<PodGroupController&>(controller).*method)(std::move(request), std::move(done));
    });
  }

  runtime::Replica& replica_;
};

}  // namespace basalt::pgsvc
