#pragma once

// Serves a unary method of a generated CallbackService by a handler on a Loop:
//
//   grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const GetJobRequest* request,
//                                    Job* response) override {
//     return rpc::ServeUnary<GetJobRequest, Job>(loop_, context, request, response,
//         [this](GetJobRequest request, rpc::Done<Job> done) { … });
//   }
//
// Heavy (gRPC): only in .cc files of api/ and common/rpc. The loop outlives the server.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <utility>

#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "common/rpc/status_bridge.h"

namespace basalt::rpc {

// Finishes the call once; also when it is dropped, so that no call hangs and the server can end.
template <typename Response>
class UnaryEnd {
 public:
  UnaryEnd(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor, Response* response)
      : context_(context), reactor_(reactor), response_(response) {}
  ~UnaryEnd() {
    Finish(started_ ? absl::UnknownError("the server dropped the call")
                    : absl::UnavailableError("the server is stopping"));
  }
  void SetStarted() { started_ = true; }
  void Finish(absl::StatusOr<Response> answer) {
    if (finished_.exchange(true)) return;
    if (answer.ok()) *response_ = *std::move(answer);
    reactor_->Finish(ToAnswer(answer.status(), *context_));
  }

 private:
  grpc::CallbackServerContext* const context_;
  grpc::ServerUnaryReactor* const reactor_;
  Response* const response_;
  std::atomic<bool> started_ = false;
  std::atomic<bool> finished_ = false;
};

template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* ServeUnary(Loop& loop, grpc::CallbackServerContext* context, const Request* request,
                                     Response* response, Handler handler) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  auto end = std::make_shared<UnaryEnd<Response>>(context, reactor, response);
  loop.Post([end = std::move(end), request = *request, handler = std::move(handler)]() mutable {
    end->SetStarted();
    handler(std::move(request),
            Done<Response>([end](absl::StatusOr<Response> answer) { end->Finish(std::move(answer)); }));
  });
  return reactor;
}

}  // namespace basalt::rpc
