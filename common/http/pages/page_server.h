#pragma once

// A small HTTP port for pages that programs and probes read: GET only, whole answers, bounded in connections, time and
// memory. On libmicrohttpd, with one thread for all connections.
#include <functional>
#include <memory>
#include <string>

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

struct PageServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one, see PageServer::port().
  PageServerBounds bounds;
};

// The page of a path, which has no query and is not escaped.
using MakePage = std::function<Response(const std::string& path)>;

// Destroying it closes the port and every connection. Any thread, but not from within MakePage.
class PageServer {
 public:
  virtual ~PageServer() = default;
  virtual uint16_t port() const = 0;
};

// `make` runs on `loop`, which outlives the server: so an answer shows that the loop runs. It does not run any more
// once the server is destroyed. INVALID_ARGUMENT: the address. UNAVAILABLE: it cannot be listened on.
absl::StatusOr<std::unique_ptr<PageServer>> StartPageServer(Loop& loop, MakePage make,
                                                            const PageServerOptions& options);

}  // namespace basalt::http
