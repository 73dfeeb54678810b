#include "cli/view/topology_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/rpc/program_name.h"

namespace basalt::cli {
namespace {

using gateway::v1::Move;

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

std::string_view StageText(Move::Stage stage) {
  switch (stage) {
    case Move::STAGE_RELEASING:
      return "releasing";
    case Move::STAGE_DRAINING:
      return "draining";
    case Move::STAGE_TRANSFERRING:
      return "transferring";
    case Move::STAGE_WAITING:
      return "waiting";
    default:
      return "?";
  }
}

std::string_view StateText(const gateway::v1::MemberStatus& member) {
  if (member.leaving()) return "leaving";
  return member.attached() ? "attached" : "away";
}

std::string Short(int64_t milliseconds) {
  return milliseconds < 1000 ? fmt::format("{}ms", std::max<int64_t>(0, milliseconds)) : FormatAge(milliseconds);
}

std::string HeadLine(const gateway::v1::Topology& topology) {
  std::string leads = "leads";
  if (!topology.leads()) {
    leads = topology.leader().empty()
                ? "standby, nobody is known to lead"
                : fmt::format("standby, {} leads at {}", topology.leader(), OrDash(topology.leader_address()));
  }
  return Printable(fmt::format("gateway {} (version {}), {}, epoch {}, {} slots", topology.gateway(),
                               topology.version(), leads, topology.epoch(), topology.slot_count())) +
         "\n";
}

// If the table would be wider than the terminal, the address is left out, since the other columns change.
std::string FormatMembers(const gateway::v1::Topology& topology, size_t width) {
  constexpr ptrdiff_t kAddress = 2;
  Row header = {"SERVICE", "REPLICA", "ADDRESS", "STATE", "SLOTS", "WAITING", "UNACKED", "LAG", "DIRTY"};
  const bool are_mixed = std::any_of(topology.members().begin(), topology.members().end(), [&](const auto& member) {
    return !member.version().empty() && member.version() != topology.version();
  });
  if (are_mixed) header.push_back("RELEASE");
  std::vector<Row> rows;
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    rows.push_back({std::string(ServiceText(member.member().service())), member.member().replica(),
                    OrDash(member.member().address()), std::string(StateText(member)), std::to_string(member.slots()),
                    std::to_string(member.waiting_slots()),
                    std::to_string(member.sent_sequence() - member.acknowledged_sequence()), Short(member.lag_ms()),
                    std::to_string(member.dirty_keys())});
    if (are_mixed) rows.back().push_back(OrDash(member.version()));
  }
  std::string table = FormatTable(header, rows);
  if (width == 0 || TableWidth(table) <= width) return table;
  header.erase(header.begin() + kAddress);
  for (Row& row : rows) row.erase(row.begin() + kAddress);
  return FormatTable(header, rows, {.width = width});
}

std::string FormatMoves(const gateway::v1::Topology& topology, size_t width) {
  std::vector<Row> rows;
  for (const Move& move : topology.moves()) {
    rows.push_back({std::string(ServiceText(move.service())), OrDash(move.from()), OrDash(move.to()),
                    std::string(StageText(move.stage())), std::to_string(move.slots()), Short(move.since_ms())});
  }
  if (rows.empty()) return "";
  return "\n" + FormatTable({"MOVING", "FROM", "TO", "STAGE", "SLOTS", "FOR"}, rows, {.width = width});
}

std::string_view OpenText(const gateway::v1::SlotRange& range) { return range.open() ? "open" : "waiting"; }

}  // namespace

std::string_view ServiceText(gateway::v1::ServiceKind kind) { return rpc::ProgramName(kind, "?"); }

std::string FormatTopology(const gateway::v1::Topology& topology, size_t width) {
  std::vector<Row> watches;
  for (const gateway::v1::WatchStatus& watch : topology.watches()) {
    watches.push_back({watch.watch(), std::string(WatchText(watch.state())), std::to_string(watch.resource_version()),
                       std::to_string(watch.objects())});
  }
  return fmt::format("{}\n{}{}\n{}", CutLine(HeadLine(topology), width), FormatMembers(topology, width),
                     FormatMoves(topology, width),
                     FormatTable({"WATCH", "STATE", "VERSION", "OBJECTS"}, watches, {.width = width}));
}

std::string FormatSlots(const gateway::v1::Topology& topology, gateway::v1::ServiceKind service, size_t width) {
  struct Alike {
    uint32_t count = 0;
    std::string slots;
  };
  std::map<std::tuple<std::string, int64_t, std::string_view, std::string>, Alike> hands;
  for (const gateway::v1::SlotRange& range : topology.slots()) {
    Alike& alike = hands[{range.replica(), range.epoch(), OpenText(range), range.target()}];
    alike.count += range.last() - range.first() + 1;
    alike.slots += fmt::format("{}{}", alike.slots.empty() ? "" : ",", range.first());
    if (range.last() > range.first()) alike.slots += fmt::format("-{}", range.last());
  }
  std::vector<Row> rows;
  for (const auto& [who, alike] : hands) {
    const auto& [replica, epoch, open, target] = who;
    rows.push_back({OrDash(replica), std::to_string(epoch), std::string(open), OrDash(target),
                    std::to_string(alike.count), alike.slots});
  }
  return fmt::format(
      "{}\n{}", CutLine(fmt::format("slots of {}, epoch {}\n", ServiceText(service), topology.epoch()), width),
      FormatTable({"OWNER", "SINCE EPOCH", "STATE", "MOVES TO", "COUNT", "SLOTS"}, rows, {.width = width}));
}

const gateway::v1::SlotRange* FindSlot(const gateway::v1::Topology& topology, uint32_t slot) {
  for (const gateway::v1::SlotRange& range : topology.slots()) {
    if (range.first() <= slot && slot <= range.last()) return &range;
  }
  return nullptr;
}

std::string FormatSlot(const gateway::v1::SlotRange& range, gateway::v1::ServiceKind service, uint32_t slot,
                       std::string_view key) {
  std::string text = fmt::format("{} is in slot {} of {}: ", key, slot, ServiceText(service));
  text += range.replica().empty() ? "nobody has it" : fmt::format("{} has it", range.replica());
  text += fmt::format(" since epoch {}, {}", range.epoch(), OpenText(range));
  if (!range.target().empty()) text += fmt::format(", it moves to {}", range.target());
  return Printable(text) + "\n";
}

}  // namespace basalt::cli
