#pragma once

// A rate for each of many keys, of which only those that were used lately are kept. Not thread-safe; the caller has the
// clock.
#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "common/base/expiring_cache.h"
#include "common/time/token_bucket.h"

namespace basalt {

class KeyedRate {
 public:
  // Where more than `most` keys are in use, the one is forgotten whose bucket would be full first.
  explicit KeyedRate(TokenBucketOptions rate, size_t most = 10'000) : rate_(rate), buckets_(most) {}

  // Whether one more is allowed for the key, which then counts.
  bool Allow(const std::string& key, absl::Time now) {
    if (rate_.per_second <= 0) return true;
    const TokenBucket* const bucket = buckets_.Find(key, now);
    TokenBucket next = bucket == nullptr ? TokenBucket(rate_) : *bucket;
    if (!next.Allows(now)) return false;
    next.Take(now);
    const double most = std::max({1.0, rate_.burst, rate_.burst > 0 ? 0.0 : 2 * rate_.per_second});
    buckets_.Put(key, next, now + absl::Seconds(most / rate_.per_second));
    return true;
  }

 private:
  const TokenBucketOptions rate_;
  ExpiringCache<TokenBucket> buckets_;
};

}  // namespace basalt
