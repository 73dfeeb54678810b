#pragma once

// GatewayService.Write as a stream of calls (common/rpc/grpc/streams).
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/rpc/call_window.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

struct WriteProtocol {
  using Service = gateway::v1::GatewayService;
  using Batch = gateway::v1::WriteBatch;
  using Call = gateway::v1::WriteBatch::Write;
  using Answers = gateway::v1::WriteAnswers;
  using Answer = gateway::v1::WriteAnswers::Answer;
  using Handler = GatewayHandler;

  // A write is smaller than what a server takes as a message (kMostWriteBatchBytes); several that are together larger
  // than the bound go in several messages. How many are under way is the runtime's to say.
  static constexpr CallBounds kBounds{.call_bytes = 60 << 20, .message_bytes = 4 << 20};

  static void Start(Service::Stub& stub, grpc::ClientContext* context,
                    grpc::ClientBidiReactor<Batch, Answers>* reactor) {
    stub.async()->Write(context, reactor);
  }
  static google::protobuf::RepeatedPtrField<Call>& CallsOf(Batch& batch) { return *batch.mutable_writes(); }
  // What a write may take counts from when it was asked for.
  static void Age(Call& write, absl::Duration waited) {
    gateway::v1::WriteRequest& request = *write.mutable_request();
    if (request.timeout_ms() == 0) return;
    request.set_timeout_ms(std::max<int64_t>(request.timeout_ms() - absl::ToInt64Milliseconds(waited), 1));
  }
  static void Handle(GatewayHandler& handler, Call write, Done<Answer> done) {
    handler.Write(std::move(*write.mutable_request()),
                  [done = std::move(done)](absl::StatusOr<gateway::v1::WriteResponse> response) mutable {
                    if (!response.ok()) return done(response.status());
                    Answer answer;
                    *answer.mutable_response() = *std::move(response);
                    done(std::move(answer));
                  });
  }
};

}  // namespace basalt::rpc
