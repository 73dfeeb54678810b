#pragma once

// Limits a rate: so many events in a second, and so many at once after a rest. A value type; the caller supplies the
// time.
#include <algorithm>

#include "absl/time/time.h"

namespace basalt {

struct TokenBucketOptions {
  double per_second = 0;  // 0 means no limit.
  double burst = 0;       // 0 means twice `per_second`. A burst below 1 counts as 1.
};

class TokenBucket {
 public:
  explicit TokenBucket(TokenBucketOptions options)
      : per_second_(options.per_second),
        burst_(std::max(1.0, options.burst > 0 ? options.burst : 2 * options.per_second)),
        tokens_(burst_) {}

  bool Allows(absl::Time now) {
    Fill(now);
    // A timer may fire too early by a rounding error.
    return per_second_ <= 0 || tokens_ >= 1.0 - 1e-6;
  }
  void Take(absl::Time now) {
    Fill(now);
    if (per_second_ > 0) tokens_ -= 1.0;
  }
  // Returns the time from which the next event is allowed, as of the last call of Allows or Take.
  absl::Time Next() const {
    return tokens_ >= 1.0 || per_second_ <= 0 ? filled_ : filled_ + absl::Seconds((1.0 - tokens_) / per_second_);
  }

 private:
  void Fill(absl::Time now) {
    if (per_second_ <= 0) return;
    if (now < filled_) filled_ = now;  // The clock was set back.
    if (now > filled_) {
      if (filled_ > absl::InfinitePast()) {
        tokens_ = std::min(burst_, tokens_ + absl::ToDoubleSeconds(now - filled_) * per_second_);
      }
      filled_ = now;
    }
  }

  double per_second_, burst_, tokens_;
  absl::Time filled_ = absl::InfinitePast();
};

}  // namespace basalt
