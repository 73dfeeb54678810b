#pragma once

// Peers found by the address in their member entry, over gRPC; one channel for each address.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class Credentials;

// Used on `loop`, which calls back; destroying the directory ends what is under way and waits for it. The loop outlives
// the directory, the directory outlives the use of its peers.
// `credentials`: null: without TLS.
std::unique_ptr<PeerDirectory> MakeGrpcPeerDirectory(Loop& loop,
                                                     std::shared_ptr<const Credentials> credentials = nullptr);

}  // namespace basalt::rpc
