#pragma once

// Shared by the client adapters: channels, and unary calls that end on a loop and can all be ended at once.
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class Credentials;

// Makes a channel to a server of one of these roles (a mask of identity::Only). If `credentials` is null, the channel
// has no TLS, and any server is accepted. Any thread.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, uint32_t servers = 0,
                                           const std::shared_ptr<const Credentials>& credentials = nullptr);

// The calls under way of one peer. Its owner ends them all before the loop may be destroyed. Any thread.
//
// A context holds its channel, and gRPC 1.51 crashes if the last channel of a process is destroyed inside one of its
// own callbacks: the library then joins the thread that it runs on, and frees memory that this thread still uses. So a
// callback never drops the last reference to a call; it hands the call over to the loop.
class CallSet {
 public:
  void Add(grpc::ClientContext* context) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++under_way_;
    contexts_.insert(context);
    if (ending_) context->TryCancel();
  }
  // The call is over. `hand_over` hands the owner of `context`, and all else that the callback owns, over to the loop;
  // this set no longer touches the context by then.
  template <typename F>
  void End(grpc::ClientContext* context, F hand_over) BASALT_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      contexts_.erase(context);
    }
    hand_over();
    // Notified under the lock: after the last call the set and the loop may be destroyed.
    MutexLock lock(mutex_);
    if (--under_way_ == 0) none_.NotifyAll();
  }
  // Cancels all calls and waits until all are handed over. Not on gRPC's threads.
  void EndAll() BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ending_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    while (under_way_ > 0) none_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar none_;
  std::set<grpc::ClientContext*> contexts_ BASALT_GUARDED_BY(mutex_);  // Not yet over.
  int under_way_ BASALT_GUARDED_BY(mutex_) = 0;
  bool ending_ BASALT_GUARDED_BY(mutex_) = false;
};

// `start(context, request, response, callback)` starts the call with a generated stub's async(). `done` runs on `loop`.
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
  start(&call->context, &call->request, &call->response, [call, &calls, &loop](const grpc::Status& status) mutable {
    grpc::ClientContext* const context = &call->context;
    calls.End(context, [&] {
      absl::Status answer = FromCall(status, *context);
      loop.Post([call = std::move(call), answer = std::move(answer)] {
        if (answer.ok()) {
          call->done(std::move(call->response));
        } else {
          call->done(answer);
        }
      });
    });
  });
}

}  // namespace basalt::rpc
