#pragma once

// The server's end of GatewayService.Write: brings each write to a rpc::GatewayHandler on its loop, and takes the
// answers that come together back together.
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class WriteReactor;

// All streams of writes of one server. Any thread. Loop and handler outlive the server.
class WriteStreams {
 public:
  WriteStreams(Loop& loop, GatewayHandler& handler) : loop_(loop), handler_(handler) {}

  grpc::ServerBidiReactor<gateway::v1::WriteBatch, gateway::v1::WriteAnswers>* Serve();
  // No write is taken any more: it is told that it is surely not sent. Each stream ends once all of
  // its are answered and the other side has ended its own, as it is told to.
  void Drain();

 private:
  friend class WriteReactor;
  void Remove(WriteReactor* reactor);

  Loop& loop_;
  GatewayHandler& handler_;
  Mutex mutex_;
  std::set<WriteReactor*> reactors_ BASALT_GUARDED_BY(mutex_);
  bool draining_ BASALT_GUARDED_BY(mutex_) = false;
};

}  // namespace basalt::rpc
