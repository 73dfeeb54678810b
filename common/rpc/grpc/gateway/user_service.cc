#include "common/rpc/grpc/gateway/user_service.h"

#include <grpc/grpc_security_constants.h>

#include <utility>

#include "basalt/gateway/v1/user.grpc.pb.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {
namespace {

// OpenSSL leaves the client's own certificate out of the chain.
std::string ChainOf(const grpc::CallbackServerContext& context) {
  std::string pem;
  for (const char* part : {GRPC_X509_PEM_CERT_PROPERTY_NAME, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME}) {
    for (const grpc::string_ref& text : context.auth_context()->FindPropertyValues(part)) {
      pem.append(text.data(), text.size());
    }
  }
  return pem;
}

std::string HostOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  return peer.substr(0, peer.rfind(':'));
}

class UserServer final : public gateway::v1::UserService::CallbackService {
 public:
  UserServer(Loop& loop, UserHandler& handler, std::shared_ptr<InflightLimiter> limiter)
      : loop_(loop), handler_(handler), limiter_(std::move(limiter)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerUnaryReactor* LogIn(grpc::CallbackServerContext* context, const gateway::v1::LogInRequest* request,
                                  gateway::v1::LogInResponse* response) override {
    return ServeUnary(loop_, limiter_, context, request, response,
                      [this, client = LogInClient{ChainOf(*context), HostOf(*context)}](
                          gateway::v1::LogInRequest message, Done<gateway::v1::LogInResponse> done) {
                        handler_.LogIn(std::move(message), client, std::move(done));
                      });
  }

  grpc::ServerUnaryReactor* ReviewAccess(grpc::CallbackServerContext* context,
                                         const gateway::v1::ReviewAccessRequest* request,
                                         gateway::v1::ReviewAccessResponse* response) override {
    return ServeUnary(loop_, limiter_, context, request, response,
                      [this](gateway::v1::ReviewAccessRequest message, Done<gateway::v1::ReviewAccessResponse> done) {
                        handler_.ReviewAccess(std::move(message), std::move(done));
                      });
  }

 private:
  Loop& loop_;
  UserHandler& handler_;
  const std::shared_ptr<InflightLimiter> limiter_;
};

}  // namespace

std::unique_ptr<GrpcService> MakeUserService(Loop& loop, UserHandler& handler,
                                             std::shared_ptr<InflightLimiter> limiter) {
  return WrapService(std::make_unique<UserServer>(loop, handler, std::move(limiter)));
}

}  // namespace basalt::rpc
