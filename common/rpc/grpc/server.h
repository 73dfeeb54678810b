#pragma once

// The shell of every server: one gRPC port with our services and health; reflection and channelz where a flag says so.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/grpc/service.h"

namespace basalt::rpc {

class CallGuard;
class Credentials;

// What its clients may take, whoever they are. Streams that are open, such as Attach and Watch, are never idle.
struct GrpcBounds {
  int max_streams = 1000;  // Calls and streams of one connection; more of them wait in the client.
  // Of all connections together: beyond it they are read more slowly, then streams and connections are refused.
  size_t max_memory_bytes = size_t{2} << 30;
  absl::Duration idle_timeout = absl::Minutes(5);        // A connection without a call is closed.
  absl::Duration handshake_timeout = absl::Seconds(10);  // One on which nobody speaks HTTP/2 is closed.
  // Whoever asks is told which services there are (reflection) and who is connected (channelz). Once a server of the
  // process has it, those that follow do.
  bool shows_itself = false;
};

struct GrpcServerOptions {
  std::string address = "127.0.0.1:0";  // Port 0: any free one, see port().
  // What is larger is refused with RESOURCE_EXHAUSTED before it is read. Members alone send more, and to gateways only:
  // writes that travel together.
  int max_request_bytes = 4 << 20;
  int max_answer_bytes = 64 << 20;
  GrpcBounds bounds;
  std::shared_ptr<const Credentials> credentials = nullptr;  // Null: without TLS.
  std::shared_ptr<const CallGuard> guard = nullptr;          // MakeCallGuard of the credentials.
};

class GrpcServer {
 public:
  // Not serving (by the health protocol) until SetServing(true). UNAVAILABLE: the address cannot be listened on.
  // The loops of the services' handlers outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           std::vector<std::unique_ptr<GrpcService>> services);
  virtual ~GrpcServer() = default;  // Drains for at most a second.
  virtual int port() const = 0;
  // Any thread. What grpc.health.v1 answers, for the server and each of its services.
  virtual void SetServing(bool serving) = 0;
  // Takes no new calls, waits for those under way, cuts off what is left at the deadline. Blocks: not on a loop that a
  // handler needs.
  virtual void Drain(absl::Duration at_most) = 0;
};

}  // namespace basalt::rpc
