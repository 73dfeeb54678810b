#pragma once

// Computes figures of queues from the API server's writes. Pure.
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/jobs/write_log.h"

namespace basalt::bench {

// For each change of a pod group to Running by the client `changes`, returns the time from that write to the first
// status of the group's queue that counts the change. A time is infinite if there is no such status. Requires: no group
// was Running before the log begins, and no group stops running within the log.
std::vector<absl::Duration> TimesToCount(const std::vector<LoggedWrite>& log, std::string_view changes);

// Our status writes of queues.
struct StatusWrites {
  int writes = 0;
  int queues = 0;  // Queues whose status was written.
  // The highest rate of a queue: its writes so far, divided by one second more than the time from its first write.
  double most_per_second = 0;
  // The shortest time between two writes of one queue.
  absl::Duration least = absl::InfiniteDuration();
};
StatusWrites StatusWritesOf(const std::vector<LoggedWrite>& log);

}  // namespace basalt::bench
