#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/gateways.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "cli/view/topology_view.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/program_name.h"

namespace basalt::cli {
namespace {

using gateway::v1::ServiceKind;
using gateway::v1::SlotRange;

constexpr absl::Duration kRedraw = absl::Seconds(1);

struct TopologyFlags {
  std::string slots;  // The service whose slots are printed. Empty for none.
  std::string key;
  bool watch = false;
  bool no_follow = false;
};

struct AskedTopology {
  TopologyQuestion question;
  std::string key;  // The key whose slot is printed, as keys are routed. Empty for none.
};

// Makes the request from the flags. INVALID_ARGUMENT names flag, value and rule.
absl::StatusOr<AskedTopology> Read(const GlobalOptions& options, const TopologyFlags& flags) {
  AskedTopology asked;
  asked.question.follow = !flags.no_follow;
  if (!flags.slots.empty()) asked.question.slots_of = rpc::ServiceOfProgram(flags.slots);
  if (flags.key.empty()) return asked;
  if (flags.watch) {
    return Invalid("--key and --watch do not go together");
  }
  if (flags.slots.empty()) asked.question.slots_of = gateway::v1::SERVICE_KIND_JOB;
  const bool namespaced = asked.question.slots_of != gateway::v1::SERVICE_KIND_QUEUE;
  const auto slashes = std::count(flags.key.begin(), flags.key.end(), '/');
  if (slashes > (namespaced ? 1 : 0)) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        fmt::format("--key: '{}' is not {}", flags.key, namespaced ? "NAMESPACE/NAME" : "a queue's name"));
  }
  asked.key = namespaced && slashes == 0 ? fmt::format("{}/{}", options.ns, flags.key) : flags.key;
  return asked;
}

std::string Format(const TopologyAnswer& answer, ServiceKind slots_of, size_t width) {
  std::string text = slots_of == gateway::v1::SERVICE_KIND_UNSPECIFIED ? FormatTopology(answer.topology, width)
                                                                       : FormatSlots(answer.topology, slots_of, width);
  return answer.note.empty() ? text : CutLine(answer.note + "\n", width) + text;
}

absl::Status NoSlots(const gateway::v1::Topology& topology) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("gateway {} does not say who has which slot; only one that leads does", topology.gateway()));
}

// Prints the topology again and again until the program is interrupted. An error is printed, and the request repeated.
absl::StatusOr<int> Watch(const GlobalOptions& options, const AskedTopology& asked) {
  const bool live = options.output.empty() && CanRedraw();
  while (true) {
    const absl::StatusOr<TopologyAnswer> answer = AskTopology(options.gateway, asked.question);
    if (!answer.ok() && answer.status().code() == absl::StatusCode::kInvalidArgument) return answer.status();
    if (live) {
      const size_t width = TerminalWidth();
      const std::string picture = answer.ok() ? Format(*answer, asked.question.slots_of, width)
                                              : CutLine(fmt::format("{}\n", ToStd(answer.status().message())), width);
      Print(fmt::format("\x1b[H\x1b[J{}", CutLines(picture, TerminalHeight())));
    } else if (!answer.ok()) {
      Report(answer.status());
    } else if (options.output == "yaml") {
      Print(FormatDocument(answer->topology, options.output));
    } else {
      Print(FormatLine(answer->topology));
    }
    absl::SleepFor(kRedraw);
  }
}

absl::StatusOr<int> Show(const GlobalOptions& options, const TopologyFlags& flags) {
  BASALT_ASSIGN_OR_RETURN(const AskedTopology asked, Read(options, flags));
  if (flags.watch) return Watch(options, asked);
  BASALT_ASSIGN_OR_RETURN(const TopologyAnswer answer, AskTopology(options.gateway, asked.question));
  const ServiceKind slots_of = asked.question.slots_of;
  if (slots_of != gateway::v1::SERVICE_KIND_UNSPECIFIED && answer.topology.slots().empty()) {
    return NoSlots(answer.topology);
  }
  if (!asked.key.empty()) {
    const uint32_t slot = SlotOf(asked.key);
    const SlotRange* const range = FindSlot(answer.topology, slot);
    if (range == nullptr) return NoSlots(answer.topology);
    SlotRange one = *range;
    one.set_first(slot);
    one.set_last(slot);
    Print(options.output.empty() ? FormatSlot(one, slots_of, slot, asked.key) : FormatMessage(one, options.output));
    return kExitDone;
  }
  Print(options.output.empty() ? Format(answer, slots_of, TerminalWidth())
                               : FormatMessage(answer.topology, options.output));
  return kExitDone;
}

}  // namespace

void AddTopologyCommand(CLI::App& app, GlobalOptions& options, int& exit_code) {
  const auto flags = std::make_shared<TopologyFlags>();
  CLI::App* topology =
      AddCommand(app, "topology", "Show gateways and replicas, the slots that they own, and how far behind they are",
                 exit_code, [&options, flags] { return Show(options, *flags); });
  topology->add_option("--slots", flags->slots, "Show which replica of this service owns which slot")
      ->check(CLI::IsMember({"jobsvc", "pgsvc", "queuesvc"}));
  topology->add_option(
      "--key", flags->key,
      "Show which replica owns the slot of this key: NAMESPACE/NAME, or a queue's name with --slots queuesvc");
  topology->add_flag("-w,--watch", flags->watch,
                     "Draw the topology anew every second; in a pipe, print a line of JSON every second");
  topology->add_flag("--no-follow", flags->no_follow, "Show what this gateway knows, even if another gateway leads");
}

}  // namespace basalt::cli
