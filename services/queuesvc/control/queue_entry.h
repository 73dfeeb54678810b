#pragma once

#include "absl/time/time.h"
#include "common/reconcile/retry.h"
#include "services/queuesvc/core/pod_group_counter.h"

namespace basalt::queuesvc {

// What a worker knows of one queue of its slots beside the queue itself, which may not be there.
struct QueueEntry {
  PodGroupCounter pod_groups;
  bool write_in_flight = false;
  Retry retry;
  absl::Time next_publish = absl::InfinitePast();
};

}  // namespace basalt::queuesvc
