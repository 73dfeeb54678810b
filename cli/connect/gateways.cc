#include "cli/connect/gateways.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "cli/connect/channel.h"
#include "cli/connect/gateway_addresses.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// A gateway answers from memory. One that takes longer has stopped, or the network between is broken.
constexpr std::chrono::seconds kDeadline(5);

grpc::Status AskOnce(const std::string& address, const TopologyQuestion& question, gateway::v1::Topology& topology) {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(address, identity::Role::kGateway);
  if (!channel.ok()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, std::string(ToStd(channel.status().message()))};
  }
  auto stub = gateway::v1::GatewayService::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  gateway::v1::GetTopologyRequest request;
  request.set_slots_of(question.slots_of);
  return stub->GetTopology(&context, request, &topology);
}

grpc::Status Ask(const std::string& gateways, const std::string& address, const TopologyQuestion& question,
                 gateway::v1::Topology& topology) {
  grpc::Status status = AskOnce(address, question, topology);
  if (status.error_code() != grpc::StatusCode::UNAUTHENTICATED) return status;
  const absl::StatusOr<bool> again = LogInUserAgain(gateways);
  if (!again.ok()) return {grpc::StatusCode::UNAUTHENTICATED, std::string(ToStd(again.status().message()))};
  return *again ? AskOnce(address, question, topology) : status;
}

// Returns the note for the answer of a standby when the leader was not asked or did not answer. `why` states which.
std::string Unfollowed(const gateway::v1::Topology& topology, std::string_view why) {
  return fmt::format("{} leads, at {}, {}: this is what {} knows", topology.leader(), topology.leader_address(), why,
                     topology.gateway());
}

}  // namespace

absl::StatusOr<TopologyAnswer> AskTopology(const std::string& gateways, const TopologyQuestion& question) {
  BASALT_RETURN_IF_ERROR(LogInUser(gateways));
  std::vector<std::string> failures;
  TopologyAnswer answer;
  const auto ask = [&](const std::string& address) {
    const grpc::Status status = Ask(gateways, address, question, answer.topology);
    if (status.ok()) return true;
    failures.push_back(status.error_code() == grpc::StatusCode::UNIMPLEMENTED
                           ? fmt::format("what answers at {} is no gateway", address)
                           : fmt::format("the gateway at {} does not answer ({})", address, status.error_message()));
    return false;
  };
  BASALT_ASSIGN_OR_RETURN(const bool is_answered, AskInTurn(gateways, failures, ask));
  if (!is_answered) return NoGateway(absl::StatusCode::kUnavailable, failures);
  const gateway::v1::Topology& standby = answer.topology;
  if (standby.leads() || standby.leader_address().empty()) return answer;
  if (!question.follow) {
    answer.note = Unfollowed(standby, "and was not asked");
    return answer;
  }
  TopologyAnswer of_leader;
  const grpc::Status status = Ask(gateways, standby.leader_address(), question, of_leader.topology);
  if (status.ok()) return of_leader;
  answer.note = Unfollowed(standby, fmt::format("and does not answer ({})", status.error_message()));
  return answer;
}

absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateways) {
  BASALT_ASSIGN_OR_RETURN(TopologyAnswer answer, AskTopology(gateways));
  return std::move(answer.topology);
}

}  // namespace basalt::cli
