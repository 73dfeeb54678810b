#pragma once

// A service as a process, or several of them in one process (basalt-dev): store, loops, runtime, gRPC port and the
// HTTP port, put together once for all three services.
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
#include "common/rpc/members.h"
#include "common/rpc/metrics_token.h"
#include "common/runtime/replica.h"
#include "common/time/token_bucket.h"

namespace basalt::shell {

struct ServiceOptions {
  std::string name;  // jobsvc, pgsvc or queuesvc.
  gateway::v1::ServiceKind kind = gateway::v1::SERVICE_KIND_UNSPECIFIED;
  std::string replica;  // Empty: <name>-0.
  std::string cluster = "default";
  std::vector<std::string> gateways;  // As of --gateway: common/discovery/gateway_names.h.
  std::string listen = "127.0.0.1:0";
  std::string advertise;  // Where peers reach it; empty: host of `listen` with the real port.
  rpc::GrpcBounds grpc_bounds;
  std::shared_ptr<const rpc::Credentials> credentials = nullptr;  // Of both ports and of all channels; null: no TLS.
  std::optional<TokenBucketOptions>
      user_rate;                               // Of one user of Kubernetes; none: users do not call. Needs credentials.
  TokenBucketOptions namespace_rate;           // Of users' calls to objects of one namespace.
  std::string metrics_listen = "127.0.0.1:0";  // HTTP; empty: none.
  http::PageServerBounds metrics_bounds;
  std::shared_ptr<rpc::MetricsToken> metrics_token = nullptr;  // What /metrics asks for; null: /metrics is open.
  std::string data_dir;                                        // The store is in a folder below it.
  bool rebuild = false;
  bool sync = false;
  int workers = 1;  // Each with a thread of its own where there are several.
};

// What a service adds. Everything here is called once, before the replica starts.
struct ServiceParts {
  bool keeps_records = true;  // Of its slots: they travel with them.
  // Metrics and health of the process, for controllers.
  std::function<std::unique_ptr<runtime::Controller>(runtime::Context&)> make_controller;
  // The gRPC services; their handlers run on `api_loop`, which outlives the server. `members`: the replicas of the
  // service, and how they are called.
  std::function<std::vector<std::unique_ptr<rpc::GrpcService>>(runtime::Replica& replica, Loop& api_loop,
                                                               std::unique_ptr<rpc::Members> members)>
      make_services;
};
using MakeParts = std::function<ServiceParts(obs::Metrics& metrics, obs::Health& health)>;

// Made, used and destroyed by one thread that is none of its loops.
class ServiceProcess {
 public:
  // Statuses of the store (OpenRocksKv) and of the ports, with what to do about them.
  static absl::StatusOr<std::unique_ptr<ServiceProcess>> Start(ServiceOptions options, const MakeParts& make_parts);
  virtual ~ServiceProcess() = default;  // Health off, stop intake, drain, close.

  // Before the end: gives what it owns to other replicas, if there are any, and waits for them for some seconds at
  // most.
  virtual void Leave() = 0;

  virtual int port() const = 0;
  virtual int metrics_port() const = 0;  // 0: none.
  // Why the process must end; OK while it may go on. Any thread.
  virtual absl::Status failure() const = 0;
};

// The main function of a service: flags, logs, signals. `service_flags_done` is called when the flags are parsed.
int RunService(int argc, char** argv, const char* name, gateway::v1::ServiceKind kind, const MakeParts& make_parts);

}  // namespace basalt::shell
