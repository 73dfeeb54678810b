#pragma once

// What the client adapters share: channels, and unary calls that end on a loop and can all be ended at once.
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "common/rpc/status_bridge.h"

namespace basalt::rpc {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

// The calls under way of one peer. Its owner ends them all before the loop may go.
class CallSet {
 public:
  void Add(grpc::ClientContext* context) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    contexts_.insert(context);
    if (ending_) context->TryCancel();
  }
  void Remove(grpc::ClientContext* context) BASALT_EXCLUDES(mutex_) {
    // Told under the lock: once the last one is removed the set may be destroyed.
    MutexLock lock(mutex_);
    contexts_.erase(context);
    if (contexts_.empty()) empty_.NotifyAll();
  }
  // Cancels everything and waits until it is over. Not on gRPC's threads.
  void EndAll() BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ending_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    while (!contexts_.empty()) empty_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar empty_;
  std::set<grpc::ClientContext*> contexts_ BASALT_GUARDED_BY(mutex_);
  bool ending_ BASALT_GUARDED_BY(mutex_) = false;
};

// `start(context, request, response, callback)` starts the call with a generated stub's async().
template <typename Request, typename Response, typename Start>
void CallUnary(CallSet& calls, Loop& loop, Request request, absl::Duration timeout, Done<Response> done, Start start) {
  struct Call {
    grpc::ClientContext context;
    Request request;
    Response response;
    Done<Response> done;
  };
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->done = std::move(done);
  call->context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  calls.Add(&call->context);
  start(&call->context, &call->request, &call->response, [call, &calls, &loop](const grpc::Status& status) {
    loop.Post([call, answer = FromCall(status, call->context)] {
      if (answer.ok()) {
        call->done(std::move(call->response));
      } else {
        call->done(answer);
      }
    });
    calls.Remove(&call->context);
  });
}

}  // namespace basalt::rpc
