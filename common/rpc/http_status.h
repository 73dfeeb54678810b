#pragma once

// The plain HTTP port of every process: /metrics for Prometheus, /healthz (it runs), /readyz (named targets as JSON,
// 503 while one is missing), /version.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"

namespace basalt::rpc {

struct HttpStatusOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one.
  std::string process;
  std::string version;
};

class HttpStatus {
 public:
  virtual ~HttpStatus() = default;
  virtual uint16_t port() const = 0;
};

// Answers on `loop`. Loop, metrics and health outlive it.
absl::StatusOr<std::unique_ptr<HttpStatus>> StartHttpStatus(Loop& loop, const obs::Metrics& metrics,
                                                            const obs::Health& health, HttpStatusOptions options);

}  // namespace basalt::rpc
