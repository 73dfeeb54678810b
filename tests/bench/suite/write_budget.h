#pragma once

// Counts the writes that one job costs the API server, from its creation to rest after Completed. The whole suite runs
// under simulated time; kubesim's own log, filtered by the user agent of the gateway, is counted.
#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace basalt::bench {

struct WriteBudget {
  int pods = 0;
  int plugin_objects = 4;  // The plugins env, svc and ssh make a Service, a ConfigMap, a NetworkPolicy and a Secret.
  int goal() const { return pods + 2 + 2 * plugin_objects + 5; }

  bool completed = false;
  int writes = 0;  // Without Events and without `queues`.
  int queues = 0;  // Status writes of the job's queue, which all jobs of the queue share.
  int events = 0;
  int refused = 0;                     // Writes that were answered 4xx or 5xx, which the counts above include.
  std::map<std::string, int> by_kind;  // "create pods" -> number, Events and queues included.
  absl::Duration start_spread;         // Time between the first and the last start of a pod.
  absl::Duration end_spread;           // Time between the first and the last end of a pod.
  int started = 0;
  int ended = 0;
};

WriteBudget CountWrites(int pods);

}  // namespace basalt::bench
