#pragma once

// The HTTP shell round a Handler: HTTP/1.1 with keep-alive, chunked responses, optional TLS, on Boost.Beast.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one, see Server::port().
  int threads = 1;
  // PEM files; both or none.
  std::string tls_cert_file, tls_key_file;
  // PEM file of who signs clients' certificates: without one of those nobody comes in. Empty: nobody is asked.
  std::string tls_client_ca_file;
  size_t max_body = 16 << 20;  // A larger request is answered with 413 and the connection closed.
};

// Destroying it closes the listener and every connection: handlers see their writers closed. Handle is not called any
// more once the destructor has returned, provided that the destructor runs on the handler's loop or that loop is idle.
class Server {
 public:
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
};

// The handler is called on `handler_loop`; both outlive the server. INVALID_ARGUMENT: address or TLS files;
// UNAVAILABLE: the port cannot be listened on.
absl::StatusOr<std::unique_ptr<Server>> StartServer(Loop& handler_loop, Handler& handler, ServerOptions options);

}  // namespace basalt::http
