#pragma once

// A small HTTP port, with or without TLS, for pages that programs and probes read: GET only, whole answers, with limits
// of connections, time and memory. Uses libmicrohttpd and GnuTLS, with one thread for all connections.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

struct PageServerBounds {
  // When one more connection comes, the connection that has been idle for longest is closed.
  int max_connections = 128;
  absl::Duration idle_timeout = absl::Seconds(30);  // Is rounded up to whole seconds.
};

struct PageCertificate {
  std::string certificate_pem;  // The certificate of the server, and the chain up to the authority.
  std::string key_pem;
};

struct PageServerOptions {
  // localhost or an IP address, IPv6 without brackets. "::" means every address of the machine, including IPv4.
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0 means any free port, see PageServer::port().
  PageServerBounds bounds;
  // With a certificate the port has TLS, at least 1.2, and requests no certificate from clients. Without a certificate
  // the port has plain HTTP.
  std::optional<PageCertificate> certificate = std::nullopt;
};

struct PageRequest {
  std::string path;           // Has no query, and is unescaped.
  std::string authorization;  // The header of that name. Empty if the request has none.
};

using MakePage = std::function<Response(const PageRequest& request)>;

// The destructor closes the port and every connection. It may run on any thread, but not from within MakePage.
class PageServer {
 public:
  virtual ~PageServer() = default;
  virtual uint16_t port() const = 0;
  // Sets the certificate of connections that are opened from now on; open connections stay. Any thread; does not block.
  // INVALID_ARGUMENT: the certificate cannot be used, or the key does not belong to it; the previous certificate stays.
  // Requires: the server was started with a certificate.
  virtual absl::Status SetCertificate(const PageCertificate& certificate) = 0;
};

// `make` runs on `loop`, which must outlive the server: so an answer proves that the loop runs. `make` does not run any
// more once the server is destroyed. INVALID_ARGUMENT: the address is wrong, or the certificate as for SetCertificate.
// UNAVAILABLE: the server cannot listen on the address.
absl::StatusOr<std::unique_ptr<PageServer>> StartPageServer(Loop& loop, MakePage make,
                                                            const PageServerOptions& options);

}  // namespace basalt::http
