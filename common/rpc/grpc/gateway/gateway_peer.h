#pragma once

// The gateway as a replica uses it, over gRPC.
#include <memory>
#include <string>
#include <vector>

#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class Credentials;

// Makes a peer for several gateways, of which one leads. Attach goes on to the next gateway
// (common/discovery/gateway_ring.h) if the stream before ended without a batch; calls go to the gateway of the last
// Attach. If no address is known yet, the stream begins once one is, or ends with UNAVAILABLE, which states the name
// that cannot be looked up; calls are refused with UNAVAILABLE. The peer is used on `loop`, and calls back there.
// Destroying the peer ends its calls and waits for them; it must not happen on a gRPC thread. The loop outlives the
// peer, the peer outlives its streams. `resolver` is for `loop`; null if no name stands for many. Without `credentials`
// the peer has no TLS.
std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, std::vector<discovery::GatewayName> names,
                                                 std::unique_ptr<discovery::Resolver> resolver,
                                                 std::shared_ptr<const Credentials> credentials = nullptr);
// Requires: `addresses` is not empty, and each is host:port.
std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, const std::vector<std::string>& addresses);

}  // namespace basalt::rpc
