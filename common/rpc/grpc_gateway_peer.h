#pragma once

// The gateway seen from a replica, over gRPC.
#include <memory>
#include <string>
#include <vector>

#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Several addresses: gateways of which one leads. Attach goes on to the next one when a stream ended without a batch;
// calls go where the last Attach went. Used on `loop`, which calls back; destroying the peer ends what is under way,
// waits for it, and must not happen on a gRPC thread. The loop outlives the peer, the peer outlives its streams.
std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, std::vector<std::string> addresses);

}  // namespace basalt::rpc
