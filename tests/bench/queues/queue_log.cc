#include "tests/bench/queues/queue_log.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "tests/bench/queues/queue_load.h"

namespace basalt::bench {
namespace {

bool IsStatusOfQueue(const LoggedWrite& write) {
  return write.ours && write.succeeded() && write.resource == "queues" && write.subresource == "status";
}

}  // namespace

std::vector<absl::Duration> TimesToCount(const std::vector<LoggedWrite>& log, std::string_view changes) {
  struct Queue {
    std::vector<absl::Time> changed;
    size_t counted = 0;
  };
  std::unordered_map<std::string_view, Queue> queues;
  std::vector<absl::Duration> times;
  for (const LoggedWrite& write : log) {
    if (write.resource == "podgroups" && write.verb == "patch" && write.succeeded() && write.user_agent == changes) {
      queues[QueueOfGroup(write.name)].changed.push_back(write.time);
    } else if (IsStatusOfQueue(write)) {
      Queue& queue = queues[write.name];
      const size_t counts = std::min(static_cast<size_t>(write.running), queue.changed.size());
      for (; queue.counted < counts; ++queue.counted) times.push_back(write.time - queue.changed[queue.counted]);
    }
  }
  for (const auto& [name, queue] : queues) {
    times.insert(times.end(), queue.changed.size() - queue.counted, absl::InfiniteDuration());
  }
  return times;
}

StatusWrites StatusWritesOf(const std::vector<LoggedWrite>& log) {
  struct Queue {
    int writes = 0;
    absl::Time first, last;
  };
  std::unordered_map<std::string_view, Queue> queues;
  StatusWrites all;
  for (const LoggedWrite& write : log) {
    if (!IsStatusOfQueue(write)) continue;
    Queue& queue = queues[write.name];
    if (queue.writes++ == 0) {
      queue.first = write.time;
    } else {
      all.least = std::min(all.least, write.time - queue.last);
    }
    queue.last = write.time;
    const absl::Duration shared = queue.last - queue.first + absl::Seconds(1);
    all.most_per_second = std::max(all.most_per_second, queue.writes / absl::ToDoubleSeconds(shared));
    ++all.writes;
  }
  all.queues = static_cast<int>(queues.size());
  return all;
}

}  // namespace basalt::bench
