#include "common/reconcile/back_off.h"

#include <algorithm>

namespace basalt {

absl::Duration BackOff::Next(Random& random) {
  const absl::Duration whole = next_;
  next_ = std::min(next_ * policy_.factor, policy_.most);
  return whole * (1.0 - policy_.jitter * random.Unit());
}

}  // namespace basalt
