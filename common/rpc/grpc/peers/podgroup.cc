#include "common/rpc/grpc/peers/podgroup.h"

#include <utility>

#include "common/rpc/grpc/peers/group_protocol.h"
#include "common/rpc/grpc/streams/call_server.h"

namespace basalt::rpc {
namespace {

class PodGroupServer final : public podgroup::v1::PodGroupService::CallbackService {
 public:
  PodGroupServer(Loop& loop, PodGroupHandler& handler, std::shared_ptr<InflightLimiter> limiter)
      : calls_(loop, handler, std::move(limiter)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop.Post([] {});
  }

  grpc::ServerBidiReactor<podgroup::v1::CallBatch, podgroup::v1::CallAnswers>* Call(
      grpc::CallbackServerContext* /*context*/) override {
    return calls_.Serve();
  }
  void Drain() { calls_.Drain(); }

 private:
  CallServer<GroupProtocol> calls_;
};

}  // namespace

std::unique_ptr<GrpcService> MakePodGroupService(Loop& loop, PodGroupHandler& handler,
                                                 std::shared_ptr<InflightLimiter> limiter) {
  return WrapService(std::make_unique<PodGroupServer>(loop, handler, std::move(limiter)));
}

}  // namespace basalt::rpc
