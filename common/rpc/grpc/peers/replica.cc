#include "common/rpc/grpc/peers/replica.h"

#include <utility>

#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {
namespace {

class ReplicaServer final : public replica::v1::ReplicaService::CallbackService {
 public:
  ReplicaServer(Loop& loop, ReplicaHandler& handler) : loop_(loop), handler_(handler) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerUnaryReactor* ExportRecords(grpc::CallbackServerContext* context,
                                          const replica::v1::ExportRecordsRequest* request,
                                          replica::v1::ExportRecordsResponse* response) override {
    return ServeUnary(loop_, context, request, response,
                      [this](replica::v1::ExportRecordsRequest message, Done<replica::v1::ExportRecordsResponse> done) {
                        handler_.ExportRecords(std::move(message), std::move(done));
                      });
  }

 private:
  Loop& loop_;
  ReplicaHandler& handler_;
};

}  // namespace

std::unique_ptr<GrpcService> MakeReplicaService(Loop& loop, ReplicaHandler& handler) {
  return WrapService(std::make_unique<ReplicaServer>(loop, handler));
}

}  // namespace basalt::rpc
