#include "tests/bench/real/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/bench/report.h"

namespace basalt::bench {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kCpuPart = 10;  // The goal is a tenth of upstream's CPU time.
constexpr int kOfJob = 5;        // Status writes that a job may cost.

double Milliseconds(absl::Duration time, int per) { return absl::ToDoubleMilliseconds(time) / std::max(per, 1); }

Line CpuLine(const Row& row) {
  Line line{"CPU of all our processes", "ms per pod", Milliseconds(row.measured.cpu, row.measured.pods)};
  line.upstream = row.upstream.cpu_seconds * 1000 / std::max(row.upstream.pods, 1);
  if (row.kind == Kind::kRestart) {
    line = {"CPU of all our processes", "s", absl::ToDoubleSeconds(row.measured.cpu), row.upstream.cpu_seconds};
  }
  line.goal = fmt::format("<= {}", Number(line.upstream / kCpuPart));
  line.met = line.ours <= line.upstream / kCpuPart;
  return line;
}

Line AtMost(std::string name, std::string unit, double ours, double upstream, double most) {
  return {std::move(name), std::move(unit), ours, upstream, fmt::format("<= {}", Number(most)), ours <= most};
}

}  // namespace

std::vector<Line> CompareRow(const Row& row) {
  const Measured& ours = row.measured;
  const Upstream& theirs = row.upstream;
  std::vector<Line> lines;
  switch (row.kind) {
    case Kind::kSmallJobs:
    case Kind::kOneJob: {
      // The jobs have no plugin objects. The goal is N pods, two writes of the PodGroup, and the status writes.
      const double jobs = std::max(ours.jobs, 1);
      const double of_upstream = row.kind == Kind::kSmallJobs ? std::max(theirs.pods / 10.0, 1.0) : 1;
      lines.push_back(
          AtMost("writes", "per job", ours.writes / jobs, theirs.writes / of_upstream, ours.pods / jobs + 2 + kOfJob));
      lines.push_back({"of them status updates", "per job", ours.status_updates / jobs,
                       theirs.status_updates / of_upstream, "", true});
      break;
    }
    case Kind::kBarePods:
      lines.push_back(AtMost("writes", "per pod", static_cast<double>(ours.writes) / std::max(ours.pods, 1),
                             theirs.writes / std::max(theirs.pods, 1), 2));
      break;
    case Kind::kRestart:
      lines.push_back(AtMost("writes", "", ours.writes, theirs.writes, 0));
      break;
  }
  lines.push_back(AtMost("creates answered 409", "", ours.conflicts, theirs.conflicts, 0));
  lines.push_back(CpuLine(row));
  lines.push_back({"peak memory of all our processes", "MiB", static_cast<double>(ours.peak_bytes) / kMebibyte,
                   theirs.peak_mebibytes, "", true});
  lines.push_back({"time on the clock", "s", absl::ToDoubleSeconds(ours.wall), -1, "", true});
  return lines;
}

std::string RealTable(const std::vector<Row>& rows) {
  std::string table =
      fmt::format("{:<36} {:>10} {:>10} {:>8} {:<11} {}\n", "", "ours", "upstream", "ratio", "unit", "goal");
  for (const Row& row : rows) {
    table += fmt::format("{}\n", row.measured.name);
    for (const Line& line : CompareRow(row)) {
      const bool known = line.upstream >= 0;
      table += fmt::format("  {:<34} {:>10} {:>10} {:>8} {:<11} {}\n", line.name, Number(line.ours),
                           known ? Number(line.upstream) : "",
                           known && line.upstream > 0 ? fmt::format("{:.3f}", line.ours / line.upstream) : "",
                           line.unit, line.goal.empty() ? "" : line.goal + (line.met ? " met" : " MISSED"));
    }
    std::vector<std::string> parts;
    for (const auto& [kind, count] : row.measured.by_kind) parts.push_back(fmt::format("{} {}", count, kind));
    table += fmt::format("    writes: {}\n", parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", ")));
    parts.clear();
    for (const auto& [program, cpu] : row.measured.cpu_by_program) {
      parts.push_back(fmt::format("{} {:.2f} s, {} MiB", program, absl::ToDoubleSeconds(cpu),
                                  row.measured.peak_by_program.at(program) / (1 << 20)));
    }
    table += fmt::format("    processes: {}\n", fmt::join(parts, "; "));
  }
  return table + "upstream's figures are of another day, on 2 cores and the same kind of cluster\n";
}

json::value RealJson(const std::vector<Row>& rows) {
  json::array all;
  for (const Row& row : rows) {
    json::array lines;
    for (const Line& line : CompareRow(row)) {
      json::object one{{"name", line.name}, {"ours", line.ours}, {"unit", line.unit}};
      if (line.upstream >= 0) one["upstream"] = line.upstream;
      if (!line.goal.empty()) {
        one["goal"] = line.goal;
        one["met"] = line.met;
      }
      lines.push_back(std::move(one));
    }
    json::object writes;
    for (const auto& [kind, count] : row.measured.by_kind) writes[kind] = count;
    all.push_back(
        json::object{{"work", row.measured.name}, {"figures", std::move(lines)}, {"writes", std::move(writes)}});
  }
  return all;
}

}  // namespace basalt::bench
