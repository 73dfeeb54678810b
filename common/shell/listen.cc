#include "common/shell/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "common/base/status.h"

ABSL_FLAG(bool, insecure_listen_beyond_loopback, false,
          "let servers listen where other machines reach them: whoever does may ask and say anything, unencrypted, so "
          "something else has to keep strangers away (a NetworkPolicy, a mesh)");

namespace basalt::shell {
namespace {

bool IsLoopback(const std::string& host, bool brackets) {
  in6_addr v6;
  if (brackets) return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET;
  return host == "localhost";
}

}  // namespace

absl::Status CheckListen(std::string_view flag, std::string_view address, bool beyond_loopback) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, std::min(colon, address.size()));
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  int port = -1;
  const bool has_port = colon != std::string_view::npos &&
                        absl::SimpleAtoi(absl::string_view(address.data(), address.size()).substr(colon + 1), &port);
  if (!has_port || port < 0 || port > 65535 || (!brackets && host.find_first_of(":/") != std::string_view::npos)) {
    return Invalid(fmt::format("--{}: '{}' is not host:port, with a port between 0 and 65535", flag, address));
  }
  if (beyond_loopback || IsLoopback(std::string(host), brackets)) return absl::OkStatus();
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
