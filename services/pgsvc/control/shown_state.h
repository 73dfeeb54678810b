#pragma once

// The parts of a published group that are not in the object itself. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/kube/timestamp.h"
#include "common/reconcile/retry.h"
#include "common/watch/state_hash.h"

namespace basalt::pgsvc {

// Returns when the next try is due; 0 if it is due at once.
inline int64_t DueMs(const Retry& retry) {
  return retry.until() > absl::InfinitePast() ? absl::ToUnixMillis(retry.until()) : 0;
}

inline void ShowRetry(const Retry& retry, podgroup::v1::PodGroup& message) {
  const std::optional<absl::Time> since = retry.since();
  if (!since) return;
  message.set_allocated_failing_since_time(kube::ToTimestamp(absl::ToUnixMillis(*since)).release());
  message.set_allocated_retry_time(kube::ToTimestamp(DueMs(retry)).release());
}

// Returns a hash of the parts of a group that groups of all profiles publish. `observed` is null if there is no group.
inline uint64_t PublishedStateOf(const kube::v1::PodGroup* observed, size_t pods, const Retry& retry) {
  watch::StateHash state;
  if (observed != nullptr) {
    state.Add(observed->meta().uid()).Add(static_cast<uint64_t>(observed->meta().resource_version()));
  }
  state.Add(uint64_t{pods});
  if (const std::optional<absl::Time> since = retry.since()) {
    state.Add(static_cast<uint64_t>(absl::ToUnixMillis(*since))).Add(static_cast<uint64_t>(DueMs(retry)));
  }
  return state.value();
}

}  // namespace basalt::pgsvc
