#pragma once

// Fetches the topology of the suite from the gateways. Blocking; any thread.
#include <string>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::cli {

struct TopologyQuestion {
  // The service whose slots, with their owners, are part of the answer.
  gateway::v1::ServiceKind slots_of = gateway::v1::SERVICE_KIND_UNSPECIFIED;
  // If a standby answers, ask the leader whose address it names.
  bool follow = true;
};

struct TopologyAnswer {
  gateway::v1::Topology topology;
  std::string note;  // A remark for the reader, such as that the leader did not answer. May be empty.
};

// Asks the gateways one after the other until one answers. `gateways` is written as for --gateway: addresses and names,
// comma separated. INVALID_ARGUMENT names flag, value and rule. UNAVAILABLE names the gateways that were asked, why
// there is no answer, and what to do.
absl::StatusOr<TopologyAnswer> AskTopology(const std::string& gateways, const TopologyQuestion& question = {});
absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateways);

}  // namespace basalt::cli
