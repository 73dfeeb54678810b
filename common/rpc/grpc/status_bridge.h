#pragma once

// Converts between absl::Status and grpc::Status with its details (common/rpc/error_details.h), and finds out whether a
// failed call may have been handled. Any thread.
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace basalt::rpc {

// Messages and details travel in headers, which together have a limit of 8 KiB. A message that exceeds its limit, as it
// is encoded there (up to three bytes for one), is cut, and ends with a mark; details that exceed theirs are left out.
inline constexpr size_t kMaxStatusMessage = 3000;
inline constexpr size_t kMaxStatusDetails = 2500;

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// Converts an answer of our own handlers: marks the status as theirs, before Finish.
grpc::Status ToAnswer(const absl::Status& status, grpc::ServerContextBase& context);
// Converts the end of a unary call. gRPC reports a broken connection as UNAVAILABLE, whether the call was handled or
// not. The status stays UNAVAILABLE (surely not handled) only if the peer itself sent it or could not be reached at
// all; else it becomes UNKNOWN.
absl::Status FromCall(const grpc::Status& status, const grpc::ClientContext& context);

}  // namespace basalt::rpc
