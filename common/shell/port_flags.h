#pragma once

// What strangers may take of a process by its ports: flags that all programs of the suite share.
#include "common/http/pages/page_server.h"
#include "common/rpc/grpc/server.h"

namespace basalt::shell {

// Requires: the command line has been parsed. INVALID_ARGUMENT names the flag.
absl::StatusOr<rpc::GrpcBounds> GrpcBoundsFromFlags();
absl::StatusOr<http::PageServerBounds> PageServerBoundsFromFlags();

}  // namespace basalt::shell
