#pragma once

// One GatewayPeer over several gateways, of which one leads. Attach goes to the same gateway again, and to the next one
// when the stream before ended without a batch: a standby refuses, a dead one does not answer. Calls go where the last
// Attach went. That is what MakeGrpcGatewayPeer does over its channels; this one is for peers of any kind.
//
// Confined to the loop of its peers. Streams that it made are destroyed before it.
#include <memory>
#include <vector>

#include "common/rpc/peers.h"

namespace basalt::rpc {

// Requires: not empty.
std::unique_ptr<GatewayPeer> FollowLeader(std::vector<std::unique_ptr<GatewayPeer>> gateways);

}  // namespace basalt::rpc
