#include "tests/bench/process_usage.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

// A function of jemalloc. Null in a build whose allocator comes from a sanitizer.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* fresh, size_t fresh_size)
    __attribute__((weak));

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

int64_t AllocatedBytes() {
  if (mallctl == nullptr) return 0;
  // jemalloc refreshes its figures only when the epoch changes.
  uint64_t epoch = 1;
  size_t size = sizeof epoch;
  mallctl("epoch", &epoch, &size, &epoch, size);
  size_t bytes = 0;
  size = sizeof bytes;
  if (mallctl("stats.allocated", &bytes, &size, nullptr, 0) != 0) return 0;
  return static_cast<int64_t>(bytes);
}

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
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

absl::Duration ProcessStats::Of(std::string_view thread) const {
  const auto found = threads.find(thread);
  return found == threads.end() ? absl::ZeroDuration() : found->second;
}

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = FirstLine(thread.path() / "comm");
    // The file holds nanoseconds on a CPU, nanoseconds waiting for one, and time slices.
    const std::string schedule = FirstLine(thread.path() / "schedstat");
    if (!name.empty()) stats.threads[name] += absl::Nanoseconds(std::strtoll(schedule.c_str(), nullptr, 10));
  }
  stats.cpu = OwnCpu();
  stats.allocated_bytes = AllocatedBytes();
  long long total = 0;
  long long resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  stats.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  return stats;
}

ProcessStats Difference(const ProcessStats& later, const ProcessStats& earlier) {
  ProcessStats difference = later;
  for (auto& [name, time] : difference.threads) time -= earlier.Of(name);
  difference.cpu -= earlier.cpu;
  difference.allocated_bytes -= earlier.allocated_bytes;
  difference.resident_bytes -= earlier.resident_bytes;
  return difference;
}

void Pause(Loop& loop, absl::Duration time) {
  // Shared, since set_value() may still run when the waiter is already awake.
  const auto over = std::make_shared<std::promise<void>>();
  loop.RunAfter(time, [over] { over->set_value(); });
  over->get_future().wait();
}

std::string ToLine(const ProcessStats& stats) {
  json::object threads;
  for (const auto& [name, time] : stats.threads) threads[name] = absl::ToInt64Nanoseconds(time);
  return ToText(json::object{{"threads", std::move(threads)},
                             {"cpu", absl::ToInt64Nanoseconds(stats.cpu)},
                             {"allocated", stats.allocated_bytes},
                             {"resident", stats.resident_bytes}});
}

absl::StatusOr<ProcessStats> FromLine(const std::string& line) {
  BASALT_ASSIGN_OR_RETURN(const json::value value, ParseJson(line));
  ProcessStats stats;
  const json::value* threads = Find(value, "threads");
  if (threads == nullptr || !threads->is_object()) return absl::InvalidArgumentError("no statistics of a process");
  for (const auto& [name, time] : threads->get_object()) {
    stats.threads[std::string(name.data(), name.size())] = absl::Nanoseconds(time.to_number<int64_t>());
  }
  stats.cpu = absl::Nanoseconds(FindInt(value, "cpu"));
  stats.allocated_bytes = FindInt(value, "allocated");
  stats.resident_bytes = FindInt(value, "resident");
  return stats;
}

}  // namespace basalt::bench
