#include "cli/connect/gateways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "cli/connect/channel.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"

namespace basalt::cli {
namespace {

// A gateway answers from its memory: one that takes longer is stopped, or the way to it is.
constexpr std::chrono::seconds kDeadline(5);

grpc::Status Ask(const std::string& address, const TopologyQuestion& question, gateway::v1::Topology& topology) {
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

// What is said of a gateway that does not lead, where the leader is not to be asked or cannot be.
std::string Unfollowed(const gateway::v1::Topology& topology, std::string_view why) {
  return fmt::format("{} leads, at {}, {}: this is what {} knows", topology.leader(), topology.leader_address(), why,
                     topology.gateway());
}

}  // namespace

absl::StatusOr<TopologyAnswer> AskTopology(const std::string& gateways, const TopologyQuestion& question) {
  const std::vector<std::string> values = absl::StrSplit(gateways, ',');
  BASALT_ASSIGN_OR_RETURN(const std::vector<discovery::GatewayName> names, discovery::ParseGatewayNames(values));
  std::vector<std::string> failures;
  for (const discovery::GatewayName& name : names) {
    std::vector<std::string> addresses = {ToText(name.at)};
    if (name.many) {
      absl::StatusOr<std::vector<std::string>> found = discovery::LookUp(name.at);
      if (!found.ok()) {
        failures.push_back(std::string(found.status().message()));
        continue;
      }
      addresses = *std::move(found);
    }
    for (const std::string& address : addresses) {
      TopologyAnswer answer;
      if (const grpc::Status status = Ask(address, question, answer.topology); !status.ok()) {
        failures.push_back(
            status.error_code() == grpc::StatusCode::UNIMPLEMENTED
                ? fmt::format("what answers at {} is no gateway", address)
                : fmt::format("the gateway at {} does not answer ({})", address, status.error_message()));
        continue;
      }
      const gateway::v1::Topology& standby = answer.topology;
      if (standby.leads() || standby.leader_address().empty()) return answer;
      if (!question.follow) {
        answer.note = Unfollowed(standby, "and was not asked");
        return answer;
      }
      TopologyAnswer of_leader;
      const grpc::Status status = Ask(standby.leader_address(), question, of_leader.topology);
      if (status.ok()) return of_leader;
      answer.note = Unfollowed(standby, fmt::format("and does not answer ({})", status.error_message()));
      return answer;
    }
  }
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format("{}; name it with --gateway or BASALT_GATEWAY", fmt::join(failures, "; ")));
}

absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateways) {
  BASALT_ASSIGN_OR_RETURN(TopologyAnswer answer, AskTopology(gateways));
  return std::move(answer.topology);
}

}  // namespace basalt::cli
