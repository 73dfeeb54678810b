#pragma once

// Where the servers of the suite may listen. Whoever reaches a port without TLS may ask and say anything, and read what
// others are told. So such ports serve this machine alone unless --insecure_listen_beyond_loopback says otherwise.
#include <string_view>

#include "absl/status/status.h"

namespace basalt::shell {

// `address`: host:port or [host]:port. INVALID_ARGUMENT, naming `flag`, where it has no port, or where the host is none
// of 127.0.0.0/8, ::1 and localhost and `beyond_loopback` is false. Nothing is resolved.
absl::Status CheckListen(std::string_view flag, std::string_view address, bool beyond_loopback);

// The same of a port with or without TLS: beyond loopback it needs TLS or the flag --insecure_listen_beyond_loopback.
// Requires: the command line has been parsed.
absl::Status CheckListenByFlag(std::string_view flag, std::string_view address, bool has_tls);

}  // namespace basalt::shell
