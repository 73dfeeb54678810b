#include "gateway/kube/api_clock.h"

#include <algorithm>
#include <optional>

#include "common/http/date.h"
#include "common/obs/log.h"

namespace basalt::gateway {
namespace {

constexpr int64_t kNearMs = 2000;
constexpr int kAgreeing = 3;
constexpr int64_t kMostSkewMs = int64_t{15} * 3600 * 1000;

bool IsNear(int64_t offset_ms, int64_t low, int64_t high) {
  return offset_ms >= low - kNearMs && offset_ms <= high + kNearMs;
}

}  // namespace

void ApiClock::Observe(int status, std::string_view date) {
  if (status < 200 || status >= 300) return;
  const std::optional<absl::Time> parsed = http::ParseDate(date);
  if (!parsed.has_value()) return;
  // The header was cut to whole seconds: the server's clock was anywhere within the second after it.
  const int64_t low = absl::ToUnixMillis(*parsed) - LocalMs();
  const int64_t high = low + 1000;
  if (IsNear(offset_ms_, low, high)) {
    Follow(known_ ? std::clamp(offset_ms_, low, high) : low + 500);
    agreeing_ = too_far_ = 0;
    return;
  }
  if (low > kMostSkewMs || high < -kMostSkewMs) {
    agreeing_ = 0;
    if (++too_far_ == kAgreeing) {
      obs::LogWarning("the API server's clock is not followed: it is too far from the clock of this host",
                      {{"date", std::string(date)}, {"cure", "set the clock of this host, or that of the API server"}});
    }
    return;
  }
  too_far_ = 0;
  const bool agrees = agreeing_ > 0 && IsNear(candidate_ms_, low, high);
  candidate_ms_ = agrees ? std::clamp(candidate_ms_, low, high) : low + 500;
  agreeing_ = agrees ? agreeing_ + 1 : 1;
  if (agreeing_ < kAgreeing) return;
  Follow(candidate_ms_);
  agreeing_ = 0;
}

void ApiClock::Follow(int64_t offset_ms) {
  if (!known_) last_ms_ = INT64_MIN;  // The times so far came from the local clock, not from the server's.
  known_ = true;
  offset_ms_ = offset_ms;
}

int64_t ApiClock::NowMs() {
  const int64_t now = LocalMs() + offset_ms_;
  if (now < last_ms_ && last_ms_ - now <= 1000) return last_ms_;
  last_ms_ = now;
  return now;
}

}  // namespace basalt::gateway
