#pragma once

// The plain HTTP port of every process: /metrics for Prometheus, /healthz (it runs), /readyz (named targets as JSON,
// 503 while one is missing), /version.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/pages/page_server.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"

namespace basalt::rpc {

struct HttpStatusOptions {
  http::PageServerOptions server;
  std::string process;
  std::string version;
};

// Answers on `loop`. Loop, metrics and health outlive the server. Statuses as of StartPageServer.
absl::StatusOr<std::unique_ptr<http::PageServer>> StartHttpStatus(Loop& loop, const obs::Metrics& metrics,
                                                                  const obs::Health& health, HttpStatusOptions options);

}  // namespace basalt::rpc
