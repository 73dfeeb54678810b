#pragma once

// What strangers may take of a process by its ports: flags that all programs of the suite share.
#include <memory>

#include "absl/status/statusor.h"
#include "common/http/pages/page_server.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/metrics_token.h"

namespace basalt::shell {

// Requires: the command line has been parsed. INVALID_ARGUMENT names the flag.
absl::StatusOr<rpc::GrpcBounds> GrpcBoundsFromFlags();
absl::StatusOr<http::PageServerBounds> PageServerBoundsFromFlags();
// Null: /metrics is open. INVALID_ARGUMENT names the flag, the file and the rule.
absl::StatusOr<std::shared_ptr<rpc::MetricsToken>> MetricsTokenFromFlags();

}  // namespace basalt::shell
