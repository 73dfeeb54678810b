#pragma once

// Serves UserService (proto/basalt/gateway/v1/user.proto) at a gateway.
#include <memory>
#include <string>

#include "basalt/gateway/v1/user.pb.h"
#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class CallGuard;

// A client that logs in.
struct LogInClient {
  std::string chain_pem;  // The client's certificate and those between it and its authority. Empty if there is none.
  std::string host;       // The host from which the client has connected, as "ipv4:10.0.0.7".
};

// Called on the loop of the service. Statuses as in user.proto. Both calls may be repeated.
class UserHandler {
 public:
  virtual ~UserHandler() = default;
  virtual void LogIn(gateway::v1::LogInRequest request, const LogInClient& client,
                     Done<gateway::v1::LogInResponse> done) = 0;
  virtual void ReviewAccess(gateway::v1::ReviewAccessRequest request, Done<gateway::v1::ReviewAccessResponse> done) = 0;
};

// Loop and handler outlive the server, whose limiter `limiter` is.
std::unique_ptr<GrpcService> MakeUserService(Loop& loop, UserHandler& handler,
                                             std::shared_ptr<InflightLimiter> limiter);

}  // namespace basalt::rpc
