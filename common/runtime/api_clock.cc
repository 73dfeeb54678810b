#include "common/runtime/api_clock.h"

#include <algorithm>

namespace basalt::runtime {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(30);
// The clock stands still rather than go back by at most this.
constexpr absl::Duration kStandsStill = absl::Seconds(5);

}  // namespace

void ApiClock::Update(absl::Time api, absl::Time local) {
  const absl::Duration offset = api - local;
  MutexLock lock(mutex_);
  if (!known_) {
    known_ = true;
    last_ = absl::InfinitePast();  // The times before were those of the local clock, not the server's.
    current_ = previous_ = offset;
    window_end_ = local + kWindow;
  } else if (local >= window_end_) {
    previous_ = current_;
    current_ = offset;
    window_end_ = local + kWindow;
  } else {
    current_ = std::max(current_, offset);
  }
}

absl::Time ApiClock::Now(absl::Time local) {
  MutexLock lock(mutex_);
  if (known_) local += std::max(current_, previous_);
  if (local < last_ && last_ - local <= kStandsStill) return last_;
  last_ = local;
  return last_;
}

}  // namespace basalt::runtime
