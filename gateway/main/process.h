#pragma once

// A whole gateway in this process: its loop, its API client, its gRPC port and its metrics port.
//
// Used from any thread but its own loop. Destroying the process stops serving, drains for a moment, gives the lead back
// and ends everything in order.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/http/http.h"
#include "common/http/pages/page_server.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/metrics_token.h"
#include "common/time/token_bucket.h"
#include "gateway/server/gateway.h"

namespace basalt::gateway {

struct ProcessOptions {
  std::string listen = "127.0.0.1:0";  // The gRPC port.
  std::string advertise;               // Where others reach it. If empty, the host of `listen` with the real port.
  std::string metrics_listen = "127.0.0.1:0";  // HTTP: /metrics, /readyz, /healthz, /version. Empty for none.
  rpc::GrpcBounds grpc_bounds;
  std::shared_ptr<const rpc::Credentials> credentials = nullptr;  // For both ports. Null for no TLS.
  // The rate of one user of Kubernetes. Nullopt if users do not call. Needs credentials.
  std::optional<TokenBucketOptions> user_rate;
  http::PageServerBounds metrics_bounds;
  // The token that /metrics requires. Null if /metrics is open.
  std::shared_ptr<rpc::MetricsToken> metrics_token = nullptr;
  absl::Duration drain = absl::Seconds(2);
  GatewayOptions gateway;
};

class Process {
 public:
  // Makes the client of the API server on the gateway's loop.
  using MakeClient = std::function<std::unique_ptr<http::Client>(Loop&)>;

  // UNAVAILABLE if an address cannot be listened on. The process lists and watches from here on; it is ready when every
  // watch is.
  static absl::StatusOr<std::unique_ptr<Process>> Start(ProcessOptions options, MakeClient make_client);

  virtual ~Process() = default;
  virtual int port() const = 0;
  virtual int metrics_port() const = 0;  // 0 if there is none.
  virtual const obs::Health& health() const = 0;
  // Not OK if the process has to end because another one has taken its place.
  virtual absl::Status failure() const = 0;
};

}  // namespace basalt::gateway
