#pragma once

// The API server's time, derived from the Date headers of its answers, so that hosts with skewed clocks agree on
// deadlines (correctness 3). The header has whole seconds, so the time is right to within a second. Confined to one
// loop.
//
// Deadlines of jobs depend on this time, so one header alone does not move it far. A date that differs by more than two
// seconds from the current estimate counts only once three answers in a row agree on it. A date that is more than 15
// hours from the local clock never counts (a clock that takes local time for UTC is off by 14 hours at most).
#include <cstdint>
#include <string_view>

#include "common/time/time_system.h"

namespace basalt::gateway {

class ApiClock {
 public:
  explicit ApiClock(const TimeSystem& time) : time_(time) {}

  // Takes the Date header of an answer that arrived just now. Only a 2xx counts: other answers may be a proxy's. A text
  // that is no HTTP date is ignored.
  void Observe(int status, std::string_view date);
  // Returns the local time while the server's is not known. From then on the time never goes back, unless the server's
  // clock has gone back by more than a second.
  int64_t NowMs();
  bool known() const { return known_; }

 private:
  void Follow(int64_t offset_ms);
  int64_t LocalMs() const { return absl::ToUnixMillis(time_.Now()); }

  const TimeSystem& time_;
  bool known_ = false;
  int64_t offset_ms_ = 0;  // Server minus local time; 0 while not known.
  int64_t last_ms_ = INT64_MIN;
  // The offset on which the last agreeing_ answers agree, all of them far from offset_ms_.
  int64_t candidate_ms_ = 0;
  int agreeing_ = 0;
  int too_far_ = 0;  // How many answers in a row were beyond the bound.
};

}  // namespace basalt::gateway
