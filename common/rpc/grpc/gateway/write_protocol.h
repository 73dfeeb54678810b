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

  // A write is smaller than the largest message of a server (kMostWriteBatchBytes). Writes that together exceed the
  // limit go in several messages. The runtime limits how many are under way.
  static constexpr CallBounds kBounds{.call_bytes = 60 << 20, .message_bytes = 4 << 20};

  static void Start(Service::Stub& stub, grpc::ClientContext* context,
                    grpc::ClientBidiReactor<Batch, Answers>* reactor) {
    stub.async()->Write(context, reactor);
  }
  static google::protobuf::RepeatedPtrField<Call>& CallsOf(Batch& batch) { return *batch.mutable_writes(); }
  // The timeout of a write counts from the moment when it was requested.
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
