#pragma once

// What follows for queues from what the API server has written. Pure.
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/jobs/write_log.h"

namespace basalt::bench {

// Of each change of a pod group to Running by `changes`: from that write to the status of its queue that counts it.
// Infinite: there is none. Requires: no group was Running before, and none is anything else afterwards.
std::vector<absl::Duration> TimesToCount(const std::vector<LoggedWrite>& log, std::string_view changes);

// Status writes of queues, ours.
struct StatusWrites {
  int writes = 0;
  int queues = 0;  // That were written.
  // Of the queue that has the most: for each second, where one and then one after each whole second are one.
  double most_per_second = 0;
  absl::Duration least = absl::InfiniteDuration();  // Between two of one queue.
};
StatusWrites StatusWritesOf(const std::vector<LoggedWrite>& log);

}  // namespace basalt::bench
