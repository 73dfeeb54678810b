#pragma once

// One GatewayPeer over several gateways, of which one leads. Attach goes to the same gateway again. It goes to the next
// one if the stream before ended without a batch: a standby refuses, a dead gateway does not answer. Calls go to the
// gateway of the last Attach. MakeGrpcGatewayPeer does the same over its channels; this one is for peers of any kind.
//
// Confined to the loop of its peers. Its streams are destroyed before it.
#include <memory>
#include <vector>

#include "common/rpc/peers.h"

namespace basalt::rpc {

// Requires: `gateways` is not empty.
std::unique_ptr<GatewayPeer> FollowLeader(std::vector<std::unique_ptr<GatewayPeer>> gateways);

}  // namespace basalt::rpc
