#pragma once

// How many requests that write one job costs the API server, from its creation to rest after Completed: the whole suite
// under simulated time, counted in the embedded API server's own log by the user agent of the gateway.
#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace basalt::bench {

struct WriteBudget {
  int pods = 0;
  int plugin_objects = 4;  // env, svc and ssh: Service, ConfigMap, NetworkPolicy, Secret.
  int goal() const { return pods + 2 + 2 * plugin_objects + 5; }

  bool completed = false;
  int writes = 0;  // Without Events and without `queues`.
  int queues = 0;  // Status of the job's queue: shared by all jobs of the queue.
  int events = 0;
  int refused = 0;                     // Answered with 4xx or 5xx; counted above as well.
  std::map<std::string, int> by_kind;  // "create pods" -> number, Events and queues included.
  // Between the first and the last pod that begins to run, and that ends.
  absl::Duration start_spread;
  absl::Duration end_spread;
  int started = 0;
  int ended = 0;
};

WriteBudget CountWrites(int pods);

}  // namespace basalt::bench
