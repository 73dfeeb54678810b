#pragma once

// A service as a process, or several services in one process (basalt-dev): store, loops, runtime, gRPC port and HTTP
// port, put together once for all three services.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/pages/page_server.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/members.h"
#include "common/rpc/metrics_token.h"
#include "common/runtime/replica.h"
#include "common/time/token_bucket.h"

namespace basalt::shell {

struct ServiceOptions {
  std::string name;  // Is jobsvc, pgsvc or queuesvc.
  gateway::v1::ServiceKind kind = gateway::v1::SERVICE_KIND_UNSPECIFIED;
  std::string replica;  // Empty means <name>-0.
  std::string cluster = "default";
  std::vector<std::string> gateways;  // The values of --gateway (common/discovery/gateway_names.h).
  std::string listen = "127.0.0.1:0";
  std::string advertise;  // The address for peers. Empty means the host of `listen` with the real port.
  rpc::GrpcBounds grpc_bounds;
  // The credentials of both ports and of all channels. Null means no TLS.
  std::shared_ptr<const rpc::Credentials> credentials = nullptr;
  // The rate of one user of Kubernetes. Nullopt if users may not call. Requires `credentials`.
  std::optional<TokenBucketOptions> user_rate;
  TokenBucketOptions namespace_rate;           // The rate of users' calls to objects of one namespace.
  std::string metrics_listen = "127.0.0.1:0";  // The address of the HTTP port. Empty means no HTTP port.
  http::PageServerBounds metrics_bounds;
  std::shared_ptr<rpc::MetricsToken> metrics_token = nullptr;  // Null if /metrics needs no token.
  std::string data_dir;                                        // The folder that has the folder of the store.
  bool rebuild = false;
  bool sync = false;
  int workers = 1;  // If there are several workers, each has its own thread.
};

// The parts that a service adds to the process. The functions are called before the replica starts.
struct ServiceParts {
  bool keeps_records = true;  // Whether the service has records of its slots, which move with the slots.
  // Makes the controller of a worker.
  std::function<std::unique_ptr<runtime::Controller>(runtime::Context&)> make_controller;
  // Makes the gRPC services, whose handlers run on `api_loop`, which outlives the server. `members` are the replicas of
  // the service, with the means to call them. `limiter` is that of the server.
  std::function<std::vector<std::unique_ptr<rpc::GrpcService>>(runtime::Replica& replica, Loop& api_loop,
                                                               std::unique_ptr<rpc::Members> members,
                                                               std::shared_ptr<rpc::InflightLimiter> limiter)>
      make_services;
};
using MakeParts = std::function<ServiceParts(obs::Metrics& metrics, obs::Health& health)>;

// One thread, which is none of the process's loops, makes, uses and destroys the object.
class ServiceProcess {
 public:
  // Returns the errors of the store (OpenRocksKv) and of the ports, with advice.
  static absl::StatusOr<std::unique_ptr<ServiceProcess>> Start(ServiceOptions options, const MakeParts& make_parts);
  virtual ~ServiceProcess() = default;  // Sets health to not serving, stops the replica, drains the calls, and closes.

  // Gives the slots to other replicas, if there are any, and waits for these replicas for some seconds at most. The
  // caller destroys the object next.
  virtual void Leave() = 0;

  virtual int port() const = 0;
  virtual int metrics_port() const = 0;  // Returns 0 if there is no HTTP port.
  // Returns why the process must end. OK while the process may go on. Any thread.
  virtual absl::Status failure() const = 0;
};

// The main function of a service: reads flags, sets up logs, and waits for signals.
int RunService(int argc, char** argv, const char* name, gateway::v1::ServiceKind kind, const MakeParts& make_parts);

}  // namespace basalt::shell
