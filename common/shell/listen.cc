#include "common/shell/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <string>

#include "absl/flags/flag.h"
#include "common/base/host_port.h"
#include "common/base/status.h"

ABSL_FLAG(bool, insecure_listen_beyond_loopback, false,
          "let servers without a certificate listen where other machines reach them. Everybody who reaches a port can "
          "call everything, without encryption: a NetworkPolicy or a mesh has to keep others away");

namespace basalt::shell {
namespace {

bool IsLoopback(const std::string& host) {
  in6_addr v6;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET;
  return host == "localhost";
}

}  // namespace

absl::Status CheckListen(std::string_view flag, std::string_view address, bool beyond_loopback) {
  const absl::StatusOr<HostPort> at = ParseHostPort(address, /*least_port=*/0);
  if (!at.ok()) {
    return Invalid(
        fmt::format("--{}: '{}' {}; it takes host:port or [host]:port", flag, address, ToStd(at.status().message())));
  }
  if (beyond_loopback || IsLoopback(at->host)) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kInvalidArgument,
      fmt::format("--{}: '{}' is reached from other machines, and whoever reaches the port may ask and say "
                  "anything; serve 127.0.0.1, or set --insecure_listen_beyond_loopback",
                  flag, address));
}

absl::Status CheckListenByFlag(std::string_view flag, std::string_view address, bool has_tls) {
  return CheckListen(flag, address, has_tls || absl::GetFlag(FLAGS_insecure_listen_beyond_loopback));
}

}  // namespace basalt::shell
