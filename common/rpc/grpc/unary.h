#pragma once

// Serves a unary method of a generated CallbackService by a handler on a Loop:
//
//   grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const GetJobRequest* request,
//                                    Job* response) override {
//     return rpc::ServeUnary<GetJobRequest, Job>(loop_, limiter_, context, request, response,
//         [this](GetJobRequest request, rpc::Done<Job> done) { … });
//   }
//
// ServeUnary is called on gRPC's threads; the handler runs on the loop. The loop outlives the server. `limiter` is that
// of the server.
//
// Heavy (gRPC): only in .cc files of api/ and common/rpc.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <utility>

#include "common/exec/loop.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"
#include "common/rpc/request_bounds.h"

namespace basalt::rpc {

inline constexpr char kTooManyCalls[] = "too many calls are under way here; come again later";

// One call, alive until gRPC and the handler are done with it. It is finished once: by the handler, or when the caller
// is gone or the server cuts it off. Cutting off, too, is done on the loop, after the handler was called: a server that
// ends waits for its loops but for no answer, and no call begins once it has ended.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<UnaryCall> Make(Loop& loop, grpc::CallbackServerContext* context, Response* response,
                                         InflightLimiter::Place place) {
    auto call = std::make_shared<UnaryCall>(loop, context, response, std::move(place));
    call->self_ = call;
    call->constructed_.Release();
    return call;
  }
  UnaryCall(Loop& loop, grpc::CallbackServerContext* context, Response* response, InflightLimiter::Place place)
      : loop_(loop), context_(context), response_(response), place_(std::move(place)) {}

  // Only the first answer counts. Any thread.
  void Answer(absl::StatusOr<Response> answer) {
    if (finished_.exchange(true)) return;  // Context and response may be gone.
    const absl::Status status = answer.status();
    if (answer.ok()) *response_ = *std::move(answer);
    Finish(ToAnswer(status, *context_));
  }

 private:
  void OnCancel() override {
    constructed_.Acquire();
    loop_.Post([call = self_] { call->Answer(absl::CancelledError("the call was cancelled")); });
  }
  void OnDone() override { self_.reset(); }

  Loop& loop_;
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  const InflightLimiter::Place place_;
  std::shared_ptr<UnaryCall> self_;
  ConstructionFence constructed_;
  std::atomic<bool> finished_ = false;
};

// A handler's reference to a call. Answers the call when it is dropped unanswered, so that no call hangs.
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
grpc::ServerUnaryReactor* ServeUnary(Loop& loop, const std::shared_ptr<InflightLimiter>& limiter,
                                     grpc::CallbackServerContext* context, const Request* request, Response* response,
                                     Handler handler) {
  const auto refuse = [context](const grpc::Status& why) {
    grpc::ServerUnaryReactor* const refused = context->DefaultReactor();
    refused->Finish(why);
    return refused;
  };
  if (const absl::Status wrong = CheckRequest(*request); !wrong.ok()) return refuse(ToAnswer(wrong, *context));
  const size_t bytes = request->ByteSizeLong();
  if (!limiter->TryAcquire(bytes)) return refuse({grpc::StatusCode::RESOURCE_EXHAUSTED, kTooManyCalls});
  const auto call = UnaryCall<Response>::Make(loop, context, response, InflightLimiter::Place(limiter, bytes));
  loop.Post(
      [end = std::make_shared<UnaryEnd<Response>>(call), request = *request, handler = std::move(handler)]() mutable {
        end->SetStarted();
        handler(std::move(request),
                Done<Response>([end](absl::StatusOr<Response> answer) { end->Answer(std::move(answer)); }));
      });
  return call.get();
}

}  // namespace basalt::rpc
