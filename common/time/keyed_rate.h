#pragma once

// Limits the rate of each of many keys, and remembers only the keys that were used lately. Not thread-safe; the caller
// supplies the time.
#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "common/base/expiring_cache.h"
#include "common/time/token_bucket.h"

namespace basalt {

class KeyedRate {
 public:
  // If more than `most` keys are in use, forgets the key whose bucket would be full first.
  explicit KeyedRate(TokenBucketOptions rate, size_t most = 10'000) : rate_(rate), buckets_(most) {}

  // Returns whether the rate allows one more event of the key, and counts that event.
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
