#pragma once

// Calls about a pod group as a peer sees them: finds the worker that has the group's slot and answers from its loop.
#include <utility>

#include "common/base/slots.h"
#include "common/kube/object_key.h"
#include "common/rpc/peers.h"
#include "common/runtime/replica.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

// Any thread. `replica` runs PodGroupControllers and outlives the router.
class PodGroupRouter : public rpc::PodGroupHandler {
 public:
  explicit PodGroupRouter(runtime::Replica& replica) : replica_(replica) {}

  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
    const uint32_t slot = SlotOf(kube::ObjectKey(request.namespace_(), request.name()));
    replica_.OnWorkerOf(
        slot, [request = std::move(request), done = std::move(done)](runtime::Controller& controller) mutable {
          static_cast<PodGroupController&>(controller).EnsurePodGroup(std::move(request), std::move(done));
        });
  }
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
    const uint32_t slot = SlotOf(kube::ObjectKey(request.namespace_(), request.name()));
    replica_.OnWorkerOf(
        slot, [request = std::move(request), done = std::move(done)](runtime::Controller& controller) mutable {
          static_cast<PodGroupController&>(controller).DeletePodGroup(std::move(request), std::move(done));
        });
  }

 private:
  runtime::Replica& replica_;
};

}  // namespace basalt::pgsvc
