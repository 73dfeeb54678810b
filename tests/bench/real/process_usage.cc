#include "tests/bench/real/process_usage.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "common/base/status.h"

namespace basalt::bench {
namespace {

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Returns the value of the line "name: number kB" in bytes.
std::optional<int64_t> BytesOf(std::string_view status, std::string_view name) {
  const std::string begin = fmt::format("\n{}:", name);
  const size_t at = status.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  std::istringstream text{std::string(status.substr(at + begin.size()))};
  int64_t kilobytes = 0;
  if (!(text >> kilobytes)) return std::nullopt;
  return kilobytes * 1024;
}

}  // namespace

absl::StatusOr<ProcessUsage> ParseProcessUsage(std::string_view stat, std::string_view status, int64_t ticks) {
  constexpr int kUserTime = 14;  // Fields are counted from one. The name in parentheses is the second.
  const size_t name_end = stat.rfind(')');
  const std::optional<int64_t> peak = BytesOf(status, "VmHWM");
  const std::optional<int64_t> anonymous = BytesOf(status, "RssAnon");
  if (name_end == std::string_view::npos || !peak.has_value() || !anonymous.has_value()) {
    return Invalid("no stat and status of a process");
  }
  std::istringstream fields{std::string(stat.substr(name_end + 1))};
  std::string skipped;
  for (int field = 3; field < kUserTime; ++field) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  if (!(fields >> user >> system)) {
    return Invalid("a number is missing in a process's stat");
  }
  return ProcessUsage{absl::Seconds(1) * (user + system) / ticks, *peak, *anonymous};
}

absl::Duration OwnCpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

absl::StatusOr<ProcessUsage> ReadProcessUsage(pid_t pid) {
  const std::string stat = ReadWhole(fmt::format("/proc/{}/stat", pid));
  if (stat.empty()) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("there is no process {}", pid));
  absl::StatusOr<ProcessUsage> usage =
      ParseProcessUsage(stat, ReadWhole(fmt::format("/proc/{}/status", pid)), sysconf(_SC_CLK_TCK));
  clockid_t clock{};
  timespec used{};
  const bool has_clock = clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0;
  if (usage.ok() && has_clock) usage->cpu = absl::DurationFromTimespec(used);
  return usage;
}

}  // namespace basalt::bench
