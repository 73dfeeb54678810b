#include "tests/bench/process_stats.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string_view>
#include <system_error>

#include "common/base/json.h"
#include "common/base/status_macros.h"
#include "tests/bench/real/process_usage.h"

// A function of jemalloc. Null in a build whose allocator comes from a sanitizer.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* fresh, size_t fresh_size)
    __attribute__((weak));

namespace basalt::bench {
namespace {

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
