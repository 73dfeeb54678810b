#pragma once

// Peers found by the address in their member entry, over gRPC, with one channel for each address.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class Credentials;

// The directory is used on `loop`, and calls back there. Destroying it ends the calls under way and waits for them. The
// loop outlives the directory, the directory outlives the use of its peers. Without `credentials` it has no TLS.
std::unique_ptr<PeerDirectory> MakeGrpcPeerDirectory(Loop& loop,
                                                     std::shared_ptr<const Credentials> credentials = nullptr);

}  // namespace basalt::rpc
