#include "tests/bench/real/real_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/bench/report.h"

namespace basalt::bench {
namespace {

struct Line {
  std::string name, unit;
  double ours = 0;
  double upstream = -1;  // Negative if upstream's value is not known.
  std::string goal;      // Empty if the line is reported for comparison only.
  bool met = true;
};

constexpr double kMebibyte = 1 << 20;
constexpr double kCpuPart = 10;  // The goal is a tenth of upstream's CPU time.
constexpr int kOfJob = 5;        // Status writes that a job may cost.

double Milliseconds(absl::Duration time, int per) { return absl::ToDoubleMilliseconds(time) / std::max(per, 1); }

Line CpuLine(const Row& row) {
  Line line{"CPU of all our processes", "ms per pod", Milliseconds(row.measured.window.cpu, row.measured.pods)};
  line.upstream = row.upstream.cpu_seconds * 1000 / std::max(row.upstream.pods, 1);
  if (row.kind == Kind::kRestart) {
    line = {"CPU of all our processes", "s", absl::ToDoubleSeconds(row.measured.window.cpu), row.upstream.cpu_seconds};
  }
  line.goal = fmt::format("<= {}", Number(line.upstream / kCpuPart));
  line.met = line.ours <= line.upstream / kCpuPart;
  return line;
}

Line AtMost(std::string name, std::string unit, double ours, double upstream, double most) {
  return {std::move(name), std::move(unit), ours, upstream, fmt::format("<= {}", Number(most)), ours <= most};
}

std::vector<Line> CompareRow(const Row& row) {
  const Measured& ours = row.measured;
  const Tally tally = Count(ours.window.writes);
  const Upstream& theirs = row.upstream;
  std::vector<Line> lines;
  switch (row.kind) {
    case Kind::kSmallJobs:
    case Kind::kOneJob: {
      // The jobs have no plugin objects. The goal is N pods, two writes of the PodGroup, and the status writes.
      const double jobs = std::max(ours.jobs, 1);
      const double of_upstream = row.kind == Kind::kSmallJobs ? std::max(theirs.pods / 10.0, 1.0) : 1;
      lines.push_back(
          AtMost("writes", "per job", tally.writes / jobs, theirs.writes / of_upstream, ours.pods / jobs + 2 + kOfJob));
      lines.push_back({"of them status updates", "per job", tally.status_updates / jobs,
                       theirs.status_updates / of_upstream, "", true});
      break;
    }
    case Kind::kBarePods:
      lines.push_back(AtMost("writes", "per pod", static_cast<double>(tally.writes) / std::max(ours.pods, 1),
                             theirs.writes / std::max(theirs.pods, 1), 2));
      break;
    case Kind::kRestart:
      lines.push_back(AtMost("writes", "", tally.writes, theirs.writes, 0));
      break;
  }
  lines.push_back(AtMost("creates answered 409", "", tally.conflicts, theirs.conflicts, 0));
  lines.push_back(CpuLine(row));
  lines.push_back({"peak memory of all our processes", "MiB", static_cast<double>(ours.window.peak_bytes) / kMebibyte,
                   theirs.peak_mebibytes, "", true});
  lines.push_back({"time on the clock", "s", absl::ToDoubleSeconds(ours.wall), -1, "", true});
  return lines;
}

std::string TableOf(const std::vector<Row>& rows) {
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
    table += fmt::format("    writes: {}\n", KindsOf(Count(row.measured.window.writes)));
    std::vector<std::string> processes;
    for (const auto& [program, used] : row.measured.window.usage) {
      processes.push_back(
          fmt::format("{} {:.2f} s, {} MiB", program, absl::ToDoubleSeconds(used.cpu), used.peak_bytes / (1 << 20)));
    }
    table += fmt::format("    processes: {}\n", fmt::join(processes, "; "));
  }
  return table + "upstream's figures are of another day, on 2 cores and the same kind of cluster\n";
}

json::value JsonOf(const std::vector<Row>& rows) {
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
    for (const auto& [kind, count] : Count(row.measured.window.writes).by_kind) writes[kind] = count;
    all.push_back(
        json::object{{"work", row.measured.name}, {"figures", std::move(lines)}, {"writes", std::move(writes)}});
  }
  return all;
}

}  // namespace

std::string ReportOf(const std::vector<Row>& rows, bool as_json) {
  return as_json ? ToText(JsonOf(rows)) : TableOf(rows);
}

}  // namespace basalt::bench
