#include "common/rpc/grpc/peers/podgroup.h"

#include <utility>

#include "basalt/podgroup/v1/podgroup.grpc.pb.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {
namespace {

class PodGroupServer final : public podgroup::v1::PodGroupService::CallbackService {
 public:
  PodGroupServer(Loop& loop, PodGroupHandler& handler) : loop_(loop), handler_(handler) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerUnaryReactor* EnsurePodGroup(grpc::CallbackServerContext* context,
                                           const podgroup::v1::EnsurePodGroupRequest* request,
                                           podgroup::v1::EnsurePodGroupResponse* response) override {
    return ServeUnary(
        loop_, context, request, response,
        [this](podgroup::v1::EnsurePodGroupRequest message, Done<podgroup::v1::EnsurePodGroupResponse> done) {
          handler_.EnsurePodGroup(std::move(message), std::move(done));
        });
  }

  grpc::ServerUnaryReactor* DeletePodGroup(grpc::CallbackServerContext* context,
                                           const podgroup::v1::DeletePodGroupRequest* request,
                                           podgroup::v1::DeletePodGroupResponse* response) override {
    return ServeUnary(
        loop_, context, request, response,
        [this](podgroup::v1::DeletePodGroupRequest message, Done<podgroup::v1::DeletePodGroupResponse> done) {
          handler_.DeletePodGroup(std::move(message), std::move(done));
        });
  }

 private:
  Loop& loop_;
  PodGroupHandler& handler_;
};

}  // namespace

std::unique_ptr<GrpcService> MakePodGroupService(Loop& loop, PodGroupHandler& handler) {
  return WrapService(std::make_unique<PodGroupServer>(loop, handler));
}

}  // namespace basalt::rpc
