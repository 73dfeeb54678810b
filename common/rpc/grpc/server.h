#pragma once

// The shell of every server: one gRPC port with our services and health, and with reflection and channelz if a flag
// requests them.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/grpc/service.h"

namespace basalt::rpc {

class CallGuard;
class Credentials;

// The limits for the clients of a server. Open streams, such as Attach and Watch, are never idle.
struct GrpcBounds {
  int max_streams = 1000;  // Calls and streams of one connection; more of them wait in the client.
  // Memory of all connections together. Beyond it gRPC reads them more slowly, then refuses streams and connections.
  size_t max_memory_bytes = size_t{2} << 30;
  absl::Duration idle_timeout = absl::Minutes(5);        // A connection without a call is closed.
  absl::Duration handshake_timeout = absl::Seconds(10);  // A connection on which no client speaks HTTP/2 is closed.
  // Every client can list the services (reflection) and the connected clients (channelz). Once a server of the process
  // has it, later ones have it, too.
  bool shows_itself = false;
};

struct GrpcServerOptions {
  std::string address = "127.0.0.1:0";  // Port 0 means any free port, see port().
  // A larger request is refused with RESOURCE_EXHAUSTED before it is read. Only members send larger messages, and only
  // to gateways: writes that travel together.
  int max_request_bytes = 4 << 20;
  int max_answer_bytes = 64 << 20;
  GrpcBounds bounds;
  std::shared_ptr<const Credentials> credentials = nullptr;  // Null for a server without TLS.
  std::shared_ptr<const CallGuard> guard = nullptr;          // The result of MakeCallGuard for the credentials.
};

class GrpcServer {
 public:
  // The server is not serving (by the health protocol) until SetServing(true). UNAVAILABLE: it cannot listen there.
  // The loops of the services' handlers outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           std::vector<std::unique_ptr<GrpcService>> services);
  virtual ~GrpcServer() = default;  // Drains for at most a second.
  virtual int port() const = 0;
  // Sets the answer of grpc.health.v1 for the server and each of its services. Any thread; may be repeated.
  virtual void SetServing(bool serving) = 0;
  // Takes no new calls, waits for those under way, and cuts off the rest at the deadline. A repeated call does nothing.
  // Blocks: not on a loop that a handler needs.
  virtual void Drain(absl::Duration at_most) = 0;
};

}  // namespace basalt::rpc
