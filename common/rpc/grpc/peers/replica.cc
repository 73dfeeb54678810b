#include "common/rpc/grpc/peers/replica.h"

#include <utility>

#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {
namespace {

class ReplicaServer final : public replica::v1::ReplicaService::CallbackService {
 public:
  ReplicaServer(Loop& loop, ReplicaHandler& handler, std::shared_ptr<InflightLimiter> limiter,
                std::shared_ptr<const CallGuard> guard)
      : loop_(loop), handler_(handler), limiter_(std::move(limiter)), guard_(std::move(guard)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerUnaryReactor* ExportRecords(grpc::CallbackServerContext* context,
                                          const replica::v1::ExportRecordsRequest* request,
                                          replica::v1::ExportRecordsResponse* response) override {
    return ServeUnary(loop_, limiter_, context, request, response,
                      [this, may = MayHave(*context, *request)](replica::v1::ExportRecordsRequest message,
                                                                Done<replica::v1::ExportRecordsResponse> done) {
                        if (!may.ok()) return done(may);
                        handler_.ExportRecords(std::move(message), std::move(done));
                      });
  }

 private:
  absl::Status MayHave(const grpc::CallbackServerContext& context,
                       const replica::v1::ExportRecordsRequest& request) const {
    const MemberCheck check(guard_, context, "/basalt.replica.v1.ReplicaService/ExportRecords");
    // Records are for replicas of the same service.
    gateway::v1::Member owner = request.owner();
    owner.set_service(request.source().service());
    BASALT_RETURN_IF_ERROR(check(owner));
    return check(request.owner());
  }

  Loop& loop_;
  ReplicaHandler& handler_;
  const std::shared_ptr<InflightLimiter> limiter_;
  const std::shared_ptr<const CallGuard> guard_;
};

}  // namespace

std::unique_ptr<GrpcService> MakeReplicaService(Loop& loop, ReplicaHandler& handler,
                                                std::shared_ptr<InflightLimiter> limiter,
                                                std::shared_ptr<const CallGuard> guard) {
  return WrapService(std::make_unique<ReplicaServer>(loop, handler, std::move(limiter), std::move(guard)));
}

}  // namespace basalt::rpc
