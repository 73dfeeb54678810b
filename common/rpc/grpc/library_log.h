#pragma once

// The log of gRPC's library.
namespace basalt::rpc {

// From here on gRPC's log lines are lines of our log. The library itself would write to stderr what a peer has sent,
// unchanged, line ends included. Any thread; may be repeated.
void TakeOverGrpcLog();

}  // namespace basalt::rpc
