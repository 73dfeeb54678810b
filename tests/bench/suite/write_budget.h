#pragma once

// Counts the writes that one job costs the API server, from its creation to rest after Completed. The whole suite runs
// under simulated time; kubesim's own log, filtered by the user agent of the gateway, is counted.
#include <algorithm>

#include "absl/time/time.h"
#include "tests/bench/write_log.h"

namespace basalt::bench {

// The times at which something happened to the pods.
struct Spread {
  void Add(absl::Time time) {
    first = std::min(first, time);
    last = std::max(last, time);
    ++count;
  }
  absl::Duration length() const { return last < first ? absl::ZeroDuration() : last - first; }
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfinitePast();
  int count = 0;
};

struct WriteBudget {
  static constexpr int kPluginObjects = 4;  // Plugins env, svc and ssh: Service, ConfigMap, NetworkPolicy, Secret.
  int pods = 0;
  bool completed = false;
  Tally tally;          // The kinds include Events.
  Spread starts, ends;  // When the pods started and ended.
  int goal() const { return pods + 2 + 2 * kPluginObjects + 5; }
  int writes() const { return tally.writes - tally.queues; }  // All jobs of the queue share its status writes.
};

WriteBudget CountWrites(int pods);

}  // namespace basalt::bench
