#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

std::string_view ServiceText(gateway::v1::ServiceKind kind) {
  switch (kind) {
    case gateway::v1::SERVICE_KIND_JOB:
      return "jobsvc";
    case gateway::v1::SERVICE_KIND_POD_GROUP:
      return "pgsvc";
    case gateway::v1::SERVICE_KIND_QUEUE:
      return "queuesvc";
    default:
      return "?";
  }
}

std::string_view WatchText(gateway::v1::Mark::State state) {
  switch (state) {
    case gateway::v1::Mark::STATE_READY:
      return "ready";
    case gateway::v1::Mark::STATE_ABSENT:
      return "not served";
    case gateway::v1::Mark::STATE_FORBIDDEN:
      return "forbidden";
    default:
      return "waiting";
  }
}

absl::StatusOr<int> Show(const GlobalOptions& options) {
  BASALT_ASSIGN_OR_RETURN(const gateway::v1::Topology topology, FetchTopology(options.gateway));
  if (!options.output.empty()) {
    std::fputs(FormatMessage(topology, options.output).c_str(), stdout);
    return kExitDone;
  }
  std::vector<Row> members;
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    members.push_back(
        {std::string(ServiceText(member.member().service())), member.member().replica(), member.member().address(),
         member.attached() ? "attached" : "away", std::to_string(member.slots()),
         std::to_string(member.sent_sequence() - member.acknowledged_sequence()), std::to_string(member.dirty_keys())});
  }
  std::vector<Row> watches;
  for (const gateway::v1::WatchStatus& watch : topology.watches()) {
    watches.push_back({watch.watch(), std::string(WatchText(watch.state())), std::to_string(watch.resource_version()),
                       std::to_string(watch.objects())});
  }
  const size_t width = TerminalWidth();
  std::fputs(
      fmt::format("gateway {} (version {}), epoch {}, {} slots\n\n{}\n{}", topology.gateway(), topology.version(),
                  topology.epoch(), topology.slot_count(),
                  FormatTable({"SERVICE", "REPLICA", "ADDRESS", "STATE", "SLOTS", "UNACKED", "DIRTY"}, members, width),
                  FormatTable({"WATCH", "STATE", "VERSION", "OBJECTS"}, watches, width))
          .c_str(),
      stdout);
  return kExitDone;
}

}  // namespace

void AddTopologyCommand(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App* topology = app.add_subcommand("topology", "Who is there, what it owns, how far behind it is");
  topology->fallthrough();
  topology->callback([&options, &exit_code] {
    const absl::StatusOr<int> result = Show(options);
    exit_code = result.ok() ? *result : Report(result.status());
  });
}

}  // namespace basalt::cli
