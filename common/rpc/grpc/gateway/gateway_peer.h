#pragma once

// The gateway seen from a replica, over gRPC.
#include <memory>
#include <string>
#include <vector>

#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class Credentials;

// Several gateways of which one leads: Attach goes on to the next one (common/discovery/gateway_ring.h) when a stream
// ended without a batch; calls go where the last Attach went. Where no address is known yet, the stream begins once one
// is, or ends with UNAVAILABLE, which says what cannot be looked up; calls are refused with UNAVAILABLE. Used on
// `loop`, which calls back; destroying the peer ends what is under way, waits for it, and must not happen on a gRPC
// thread. The loop outlives the peer, the peer outlives its streams. `resolver`: for `loop`; null where no name stands
// for many. `credentials`: null: without TLS.
std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, std::vector<discovery::GatewayName> names,
                                                 std::unique_ptr<discovery::Resolver> resolver,
                                                 std::shared_ptr<const Credentials> credentials = nullptr);
// Requires: each of `addresses` is host:port, and there is one.
std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, const std::vector<std::string>& addresses);

}  // namespace basalt::rpc
