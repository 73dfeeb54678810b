#pragma once

// The HTTP port of every process, with or without TLS: /metrics for Prometheus, /healthz (the process runs), /readyz
// (named targets as JSON; 503 while one is not ready), /version.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/pages/page_server.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/metrics_token.h"

namespace basalt::rpc {

struct HttpStatusOptions {
  http::PageServerOptions server;
  std::string process;
  std::string version;
  std::shared_ptr<MetricsToken> metrics_token = nullptr;  // The token that /metrics requires. Null if /metrics is open.
};

// Answers on `loop`. From here on only that loop uses the token. Loop, metrics and health outlive the server. Statuses
// as for StartPageServer.
absl::StatusOr<std::unique_ptr<http::PageServer>> StartHttpStatus(Loop& loop, const obs::Metrics& metrics,
                                                                  const obs::Health& health, HttpStatusOptions options);

}  // namespace basalt::rpc
