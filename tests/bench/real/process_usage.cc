#include "tests/bench/real/process_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "common/base/status.h"

namespace basalt::bench {
namespace {

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

absl::StatusOr<ProcessUsage> ParseProcessUsage(std::string_view stat, std::string_view status, int64_t ticks) {
  constexpr int kUserTime = 14;  // Counted from one; the name in parentheses is the second.
  constexpr std::string_view kPeak = "\nVmHWM:";
  const size_t name_end = stat.rfind(')');
  const size_t peak = status.find(kPeak);
  if (name_end == std::string_view::npos || peak == std::string_view::npos) {
    return MakeStatus(absl::StatusCode::kInvalidArgument, "no stat and status of a process");
  }
  std::istringstream fields{std::string(stat.substr(name_end + 1))};
  std::string skipped;
  for (int field = 3; field < kUserTime; ++field) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  int64_t kilobytes = 0;
  std::istringstream size{std::string(status.substr(peak + kPeak.size()))};
  if (!(fields >> user >> system) || !(size >> kilobytes)) {
    return MakeStatus(absl::StatusCode::kInvalidArgument, "a number is missing in a process's stat or status");
  }
  return ProcessUsage{absl::Seconds(1) * (user + system) / ticks, kilobytes * 1024};
}

absl::StatusOr<ProcessUsage> ReadProcessUsage(pid_t pid) {
  const std::string stat = ReadWhole(fmt::format("/proc/{}/stat", pid));
  if (stat.empty()) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("there is no process {}", pid));
  return ParseProcessUsage(stat, ReadWhole(fmt::format("/proc/{}/status", pid)), sysconf(_SC_CLK_TCK));
}

}  // namespace basalt::bench
