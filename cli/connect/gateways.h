#pragma once

// What the gateways say of the suite. Blocking; any thread.
#include <string>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::cli {

struct TopologyQuestion {
  gateway::v1::ServiceKind slots_of = gateway::v1::SERVICE_KIND_UNSPECIFIED;  // Also who has each slot of it.
  bool follow = true;                                                         // A standby is asked for the leader only.
};

struct TopologyAnswer {
  gateway::v1::Topology topology;
  std::string note;  // What the reader should know of it: the leader, for example, did not answer. May be empty.
};

// `gateways`: as --gateway says it, addresses and names, comma separated. They are asked one after the other until one
// answers. INVALID_ARGUMENT names flag, value and rule; UNAVAILABLE names who was asked, why there is no answer and
// what to do.
absl::StatusOr<TopologyAnswer> AskTopology(const std::string& gateways, const TopologyQuestion& question = {});
absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateways);

}  // namespace basalt::cli
