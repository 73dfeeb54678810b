#pragma once

// The API server's time, from the Date headers of its answers: hosts with skewed clocks then agree on deadlines
// (correctness 3). Whole seconds on the wire, so it is right to within a second. Confined to one loop.
#include <cstdint>
#include <string_view>

#include "common/time/time_system.h"

namespace basalt::gateway {

class ApiClock {
 public:
  explicit ApiClock(const TimeSystem& time) : time_(time) {}

  // A Date header that arrived just now; anything that is no HTTP date is ignored.
  void Observe(std::string_view date);
  // The local clock before the first Observe. Never goes back, unless the server's clock has gone back by more than a
  // second.
  int64_t NowMs();
  bool known() const { return known_; }

 private:
  int64_t LocalMs() const { return absl::ToUnixMillis(time_.Now()); }

  const TimeSystem& time_;
  bool known_ = false;
  int64_t offset_ms_ = 0;  // Server minus local.
  int64_t last_ms_ = INT64_MIN;
};

// "Sun, 06 Nov 1994 08:49:37 GMT" -> milliseconds; -1 = no such date.
int64_t ParseHttpDate(std::string_view date);

}  // namespace basalt::gateway
