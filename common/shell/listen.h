#pragma once

// Checks the addresses on which the servers of the suite listen. A client that reaches a port without TLS may call
// everything, and may read the traffic of others. So such ports serve only this machine, unless
// --insecure_listen_beyond_loopback is set.
#include <string_view>

#include "absl/status/status.h"

namespace basalt::shell {

// Checks that `address` is host:port or [host]:port. INVALID_ARGUMENT, which names `flag`, if the address has no port,
// or if `beyond_loopback` is false and the host is none of 127.0.0.0/8, ::1 and localhost. Resolves no name.
absl::Status CheckListen(std::string_view flag, std::string_view address, bool beyond_loopback);

// Does the same for a port with or without TLS. Beyond loopback the port needs TLS or the flag
// --insecure_listen_beyond_loopback. Requires: the command line has been parsed.
absl::Status CheckListenByFlag(std::string_view flag, std::string_view address, bool has_tls);

}  // namespace basalt::shell
