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

// Orders the making of a reactor before its OnCancel, which comes on any thread. gRPC does so itself, but inside its
// library, where the thread sanitizer does not see it.
class Made {
 public:
  void Tell() { told_.store(true, std::memory_order_release); }                   // Last, when the reactor is made.
  void See() const { static_cast<void>(told_.load(std::memory_order_acquire)); }  // First, in OnCancel.

 private:
  std::atomic<bool> told_ = false;
};

// One call, until gRPC is done with it and the handler has let go of it. It is finished once: by the handler, or when
// the caller is gone or the server cuts it off. That too is done on the loop, after the handler was called: a server
// that ends waits for its loops but for no answer, and no call begins once it has ended.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<UnaryCall> Make(Loop& loop, grpc::CallbackServerContext* context, Response* response) {
    auto call = std::make_shared<UnaryCall>(loop, context, response);
    call->self_ = call;
    call->made_.Tell();
    return call;
  }
  UnaryCall(Loop& loop, grpc::CallbackServerContext* context, Response* response)
      : loop_(loop), context_(context), response_(response) {}

  // Any thread.
  void Answer(absl::StatusOr<Response> answer) {
    if (finished_.exchange(true)) return;  // Context and response may be gone.
    const absl::Status status = answer.status();
    if (answer.ok()) *response_ = *std::move(answer);
    Finish(ToAnswer(status, *context_));
  }

 private:
  void OnCancel() override {
    made_.See();
    loop_.Post([call = self_] { call->Answer(absl::CancelledError("the call was cancelled")); });
  }
  void OnDone() override { self_.reset(); }

  Loop& loop_;
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  std::shared_ptr<UnaryCall> self_;
  Made made_;
  std::atomic<bool> finished_ = false;
};

// What a handler holds of a call. Answers it when it is dropped, so that no call hangs.
template <typename Response>
class UnaryEnd {
 public:
  explicit UnaryEnd(std::shared_ptr<UnaryCall<Response>> call) : call_(std::move(call)) {}
  ~UnaryEnd() {
    call_->Answer(started_ ? absl::UnknownError("the server dropped the call")
                           : absl::UnavailableError("the server is stopping"));
  }
  void SetStarted() { started_ = true; }
  void Answer(absl::StatusOr<Response> answer) { call_->Answer(std::move(answer)); }

 private:
  const std::shared_ptr<UnaryCall<Response>> call_;
  std::atomic<bool> started_ = false;
};

template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* ServeUnary(Loop& loop, grpc::CallbackServerContext* context, const Request* request,
                                     Response* response, Handler handler) {
  const auto call = UnaryCall<Response>::Make(loop, context, response);
  loop.Post(
      [end = std::make_shared<UnaryEnd<Response>>(call), request = *request, handler = std::move(handler)]() mutable {
        end->SetStarted();
        handler(std::move(request),
                Done<Response>([end](absl::StatusOr<Response> answer) { end->Answer(std::move(answer)); }));
      });
  return call.get();
}

}  // namespace basalt::rpc
