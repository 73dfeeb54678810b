#include "cli/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/status_bridge.h"

namespace basalt::cli {
namespace {

constexpr std::chrono::seconds kQuestionDeadline(30);
// How long somebody who asks waits for a replica that is starting.
constexpr absl::Duration kPatience = absl::Seconds(5);
constexpr absl::Duration kPause = absl::Milliseconds(50);

absl::StatusOr<std::string> FindService(const std::string& gateway, gateway::v1::ServiceKind kind,
                                        std::string_view name) {
  const absl::Time end = absl::Now() + kPatience;
  do {
    BASALT_ASSIGN_OR_RETURN(const gateway::v1::Topology topology, FetchTopology(gateway));
    for (const gateway::v1::MemberStatus& member : topology.members()) {
      if (member.member().service() == kind && member.attached()) return member.member().address();
    }
    absl::SleepFor(kPause);
  } while (absl::Now() < end);
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format("no {} is attached to the gateway at {}; see 'basaltctl topology'", name, gateway));
}

using Call = std::function<grpc::Status(grpc::ClientContext*)>;

absl::Status Again(const Call& call, bool (*may)(const grpc::Status& status, const grpc::ClientContext& context)) {
  const absl::Time end = absl::Now() + kPatience;
  while (true) {
    const std::unique_ptr<grpc::ClientContext> context = MakeContext();
    const grpc::Status status = call(context.get());
    if (absl::Now() >= end || !may(status, *context)) return FromGrpc(status);
    absl::SleepFor(kPause);
  }
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::unique_ptr<grpc::ClientContext> MakeContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + kQuestionDeadline);
  return context;
}

absl::Status Ask(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
  return Again(call, [](const grpc::Status& status, const grpc::ClientContext&) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE;
  });
}

absl::Status Order(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
  return Again(call, [](const grpc::Status& status, const grpc::ClientContext& context) {
    return rpc::FromCall(status, context).code() == absl::StatusCode::kUnavailable;
  });
}

absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateway) {
  auto stub = gateway::v1::GatewayService::NewStub(grpc::CreateChannel(gateway, grpc::InsecureChannelCredentials()));
  auto context = MakeContext();
  gateway::v1::Topology topology;
  const grpc::Status status = stub->GetTopology(context.get(), gateway::v1::GetTopologyRequest(), &topology);
  if (!status.ok()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("the gateway at {} does not answer ({}); name it with --gateway or BASALT_GATEWAY",
                                  gateway, status.error_message()));
  }
  return topology;
}

absl::StatusOr<std::unique_ptr<job::v1::JobService::Stub>> ConnectJobs(const std::string& gateway) {
  BASALT_ASSIGN_OR_RETURN(const std::string address, FindService(gateway, gateway::v1::SERVICE_KIND_JOB, "jobsvc"));
  return job::v1::JobService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

absl::StatusOr<std::unique_ptr<queue::v1::QueueService::Stub>> ConnectQueues(const std::string& gateway) {
  BASALT_ASSIGN_OR_RETURN(const std::string address, FindService(gateway, gateway::v1::SERVICE_KIND_QUEUE, "queuesvc"));
  return queue::v1::QueueService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

}  // namespace basalt::cli
