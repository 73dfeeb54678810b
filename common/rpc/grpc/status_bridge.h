#pragma once

// absl::Status <-> grpc::Status with its details (common/rpc/error_details.h), and what a failed call says about
// whether it was handled.
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace basalt::rpc {

// Messages and details travel in headers, which together have a limit of 8 KiB: what is more of a message, as it is
// encoded there (up to three bytes for one), is cut, and says so; what is more of the details is left out.
inline constexpr size_t kMaxStatusMessage = 3000;
inline constexpr size_t kMaxStatusDetails = 2500;

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// For an answer of our own handlers: marks the status as theirs, before Finish.
grpc::Status ToAnswer(const absl::Status& status, grpc::ServerContextBase& context);
// For the end of a unary call. gRPC reports a connection that broke as UNAVAILABLE, whether the call was handled or
// not: it stays UNAVAILABLE (surely not handled) only if the peer itself said so or could not be reached at all; else
// it becomes UNKNOWN.
absl::Status FromCall(const grpc::Status& status, const grpc::ClientContext& context);

}  // namespace basalt::rpc
