#include "common/shell/port_flags.h"

#include <fmt/format.h>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "common/base/status.h"

ABSL_FLAG(
    int, grpc_max_streams, 1000,
    "calls and streams that are open at once on one connection of the gRPC port; more of them wait in the client");
ABSL_FLAG(int, grpc_max_memory_mb, 2048,
          "memory that the connections of the gRPC port may take together; beyond it they are read more slowly, then "
          "refused");
ABSL_FLAG(absl::Duration, grpc_idle_timeout, absl::Minutes(5),
          "a connection of the gRPC port without any call is closed after so long");
ABSL_FLAG(absl::Duration, grpc_handshake_timeout, absl::Seconds(10),
          "a connection of the gRPC port on which the client does not speak HTTP/2 is closed after so long");
ABSL_FLAG(bool, grpc_reflection, false,
          "the gRPC port serves reflection and channelz: everybody who reaches the port can list its services and "
          "connections");
ABSL_FLAG(int, metrics_max_connections, 128,
          "open connections of --metrics_listen; for one more the one that has been idle for longest is closed");
ABSL_FLAG(absl::Duration, metrics_idle_timeout, absl::Seconds(30),
          "an idle connection of --metrics_listen is closed after so long");
ABSL_FLAG(std::string, metrics_token_file, "",
          "file with the bearer token that /metrics asks for, read anew every --tls_refresh; empty: /metrics is open. "
          "/healthz, /readyz and /version are open in any case");
ABSL_DECLARE_FLAG(absl::Duration, tls_refresh);

namespace basalt::shell {
namespace {

absl::Status Check(bool good, const char* flag, std::string_view rule) {
  if (good) return absl::OkStatus();
  return Invalid(fmt::format("--{} has to be {}", flag, rule));
}

bool IsTimeout(absl::Duration duration) { return duration >= absl::Seconds(1) && duration <= absl::Hours(24); }

constexpr char kTimeoutRule[] = "between 1s and 24h";

}  // namespace

absl::StatusOr<rpc::GrpcBounds> GrpcBoundsFromFlags() {
  rpc::GrpcBounds bounds;
  bounds.max_streams = absl::GetFlag(FLAGS_grpc_max_streams);
  const int memory_mb = absl::GetFlag(FLAGS_grpc_max_memory_mb);
  bounds.max_memory_bytes = static_cast<size_t>(memory_mb) << 20;
  bounds.idle_timeout = absl::GetFlag(FLAGS_grpc_idle_timeout);
  bounds.handshake_timeout = absl::GetFlag(FLAGS_grpc_handshake_timeout);
  bounds.shows_itself = absl::GetFlag(FLAGS_grpc_reflection);
  absl::Status status = Check(bounds.max_streams >= 1, "grpc_max_streams", "at least 1");
  // The minimum of memory has space for two messages of the largest size.
  status.Update(Check(memory_mb >= 128, "grpc_max_memory_mb", "at least 128"));
  status.Update(Check(IsTimeout(bounds.idle_timeout), "grpc_idle_timeout", kTimeoutRule));
  status.Update(Check(IsTimeout(bounds.handshake_timeout), "grpc_handshake_timeout", kTimeoutRule));
  if (!status.ok()) return status;
  return bounds;
}

absl::StatusOr<http::PageServerBounds> PageServerBoundsFromFlags() {
  http::PageServerBounds bounds;
  bounds.max_connections = absl::GetFlag(FLAGS_metrics_max_connections);
  bounds.idle_timeout = absl::GetFlag(FLAGS_metrics_idle_timeout);
  absl::Status status = Check(bounds.max_connections >= 1, "metrics_max_connections", "at least 1");
  status.Update(Check(IsTimeout(bounds.idle_timeout), "metrics_idle_timeout", kTimeoutRule));
  if (!status.ok()) return status;
  return bounds;
}

absl::StatusOr<std::shared_ptr<rpc::MetricsToken>> MetricsTokenFromFlags() {
  const std::string file = absl::GetFlag(FLAGS_metrics_token_file);
  if (file.empty()) return nullptr;
  auto token = rpc::MetricsToken::FromFile(file, absl::GetFlag(FLAGS_tls_refresh));
  if (!token.ok()) return Invalid(fmt::format("--metrics_token_file: {}", ToStd(token.status().message())));
  return *std::move(token);
}

}  // namespace basalt::shell
