#include "dev/attached.h"

#include <fmt/format.h>

#include "absl/time/clock.h"
#include "cli/connect/gateways.h"
#include "common/base/status.h"

namespace basalt::dev {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(10);

}  // namespace

absl::Status WaitUntilAttached(const std::string& gateways, int replicas, absl::Duration limit) {
  std::string last = "no answer";
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(kPoll)) {
    const absl::StatusOr<gateway::v1::Topology> topology = cli::FetchTopology(gateways);
    if (!topology.ok()) {
      last = std::string(topology.status().message());
      continue;
    }
    int attached = 0;
    for (const gateway::v1::MemberStatus& member : topology->members()) attached += member.attached() ? 1 : 0;
    if (attached >= replicas) return absl::OkStatus();
    last = fmt::format("{} of {} replicas are attached", attached, replicas);
  }
  return MakeStatus(absl::StatusCode::kInternal,
                    fmt::format("the suite is not complete after {}: {}", absl::FormatDuration(limit), last));
}

}  // namespace basalt::dev
