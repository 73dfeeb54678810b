#pragma once

#include "absl/time/time.h"
#include "common/base/random.h"

namespace basalt {

// The waits between tries. A value type: each thing that is retried has a copy.
struct BackOffPolicy {
  absl::Duration first = absl::Milliseconds(100);
  absl::Duration most = absl::Seconds(10);
  double factor = 2.0;
  double jitter = 0.5;  // A wait of nominally d is drawn from [(1 - jitter) * d, d].
};

// Returns whether a wait until `until` still lasts. A wait that would last longer than any back-off is over: the clock
// was set back meanwhile.
inline bool StillWaits(absl::Time now, absl::Time until) { return now < until && until - now <= absl::Minutes(1); }

// A value type, confined to the loop of its owner.
class BackOff {
 public:
  explicit BackOff(BackOffPolicy policy = {}) : policy_(policy), next_(policy.first) {}
  // Returns the next wait. Each call makes the one after it longer.
  absl::Duration Next(Random& random);
  void Reset() { next_ = policy_.first; }

 private:
  BackOffPolicy policy_;
  absl::Duration next_;
};

}  // namespace basalt
