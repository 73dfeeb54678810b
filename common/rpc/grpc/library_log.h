#pragma once

// The log of gRPC's library.
namespace basalt::rpc {

// From here on gRPC's lines are lines of ours. The library itself writes to stderr what a peer has sent, as the peer
// has sent it, line ends included. Any thread, any number of times.
void TakeOverGrpcLog();

}  // namespace basalt::rpc
