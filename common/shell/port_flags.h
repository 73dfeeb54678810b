#pragma once

// Reads the flags, which all programs of the suite share, that limit the resources of a process's ports.
#include <memory>

#include "absl/status/statusor.h"
#include "common/http/pages/page_server.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/metrics_token.h"

namespace basalt::shell {

// INVALID_ARGUMENT names the flag. All functions require that the command line has been parsed.
absl::StatusOr<rpc::GrpcBounds> GrpcBoundsFromFlags();
absl::StatusOr<http::PageServerBounds> PageServerBoundsFromFlags();
// Null if /metrics needs no token. INVALID_ARGUMENT names the flag, the file and the rule.
absl::StatusOr<std::shared_ptr<rpc::MetricsToken>> MetricsTokenFromFlags();

}  // namespace basalt::shell
