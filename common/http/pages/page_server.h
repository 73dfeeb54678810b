#pragma once

// A small HTTP port, with or without TLS, for pages that programs and probes read: GET only, whole answers, bounded in
// connections, time and memory. On libmicrohttpd and GnuTLS, with one thread for all connections.
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
  // Of a connection that comes beyond it, the one that has been idle for longest is closed.
  int max_connections = 128;
  absl::Duration idle_timeout = absl::Seconds(30);  // Whole seconds, rounded up.
};

struct PageCertificate {
  std::string certificate_pem;  // The certificate of the server, and the chain up to the authority.
  std::string key_pem;
};

struct PageServerOptions {
  // localhost or an IP address, IPv6 without brackets; "::": every address of the machine, of IPv4, too.
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one, see PageServer::port().
  PageServerBounds bounds;
  // With a certificate the port has TLS, 1.2 at least, and asks no client for a certificate; without one plain HTTP.
  std::optional<PageCertificate> certificate = std::nullopt;
};

struct PageRequest {
  std::string path;           // Without a query, and not escaped.
  std::string authorization;  // The header of that name; empty: there is none.
};

using MakePage = std::function<Response(const PageRequest& request)>;

// Destroying it closes the port and every connection. Any thread, but not from within MakePage.
class PageServer {
 public:
  virtual ~PageServer() = default;
  virtual uint16_t port() const = 0;
  // The certificate of connections that are opened from now on; those that are open stay. Any thread; does not block.
  // Requires: the server was started with a certificate. INVALID_ARGUMENT: the certificate cannot be used, or the key
  // is not that of the certificate; the certificate of before stays.
  virtual absl::Status SetCertificate(const PageCertificate& certificate) = 0;
};

// `make` runs on `loop`, which outlives the server: so an answer shows that the loop runs. It does not run any more
// once the server is destroyed. INVALID_ARGUMENT: the address, or the certificate as of SetCertificate. UNAVAILABLE:
// the address cannot be listened on.
absl::StatusOr<std::unique_ptr<PageServer>> StartPageServer(Loop& loop, MakePage make,
                                                            const PageServerOptions& options);

}  // namespace basalt::http
