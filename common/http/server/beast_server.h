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
  uint16_t port = 0;  // 0 means any free port, see Server::port().
  int threads = 1;
  // The PEM files of the server's certificate and key. Both or none must be set.
  std::string tls_cert_file, tls_key_file;
  // The PEM file of the authority that signs clients' certificates, without which no client may connect. Empty if the
  // server requests no client certificate.
  std::string tls_client_ca_file;
  size_t max_body = 16 << 20;  // A request with a larger body gets 413, and its connection is closed.
};

// The destructor closes the listener and every connection; the writers of handlers become closed. Handle is not called
// any more once the destructor has returned, if the destructor runs on the handler's loop or that loop is idle.
class Server {
 public:
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
};

// The handler is called on `handler_loop`. Both must outlive the server. INVALID_ARGUMENT: the address or the TLS files
// are wrong. UNAVAILABLE: the server cannot listen on the port.
absl::StatusOr<std::unique_ptr<Server>> StartServer(Loop& handler_loop, Handler& handler, ServerOptions options);

}  // namespace basalt::http
