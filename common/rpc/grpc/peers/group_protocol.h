#pragma once

// PodGroupService.Call as a stream of calls (common/rpc/grpc/streams).
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <utility>

#include "basalt/podgroup/v1/podgroup.grpc.pb.h"
#include "common/rpc/group_calls.h"

namespace basalt::rpc {

struct GroupProtocol {
  using Service = podgroup::v1::PodGroupService;
  using Batch = podgroup::v1::CallBatch;
  using Call = podgroup::v1::CallBatch::Call;
  using Answers = podgroup::v1::CallAnswers;
  using Answer = podgroup::v1::CallAnswers::Answer;
  using Handler = PodGroupHandler;

  static constexpr CallBounds kBounds = kGroupCallBounds;

  static void Start(Service::Stub& stub, grpc::ClientContext* context,
                    grpc::ClientBidiReactor<Batch, Answers>* reactor) {
    stub.async()->Call(context, reactor);
  }
  static google::protobuf::RepeatedPtrField<Call>& CallsOf(Batch& batch) { return *batch.mutable_calls(); }
  static void Age(Call&, absl::Duration) {}
  static void Handle(PodGroupHandler& handler, Call call, Done<Answer> done) {
    HandleGroupCall(handler, std::move(call), std::move(done));
  }
};

}  // namespace basalt::rpc
