#pragma once

namespace basalt::rpc {

// The metadata in which a call carries the token of its user (basalt.gateway.v1.UserToken).
inline constexpr char kUserTokenKey[] = "basalt-user-token-bin";

}  // namespace basalt::rpc
