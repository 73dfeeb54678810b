#pragma once

// The API server's time, from the Date headers of its answers: hosts with skewed clocks then agree on deadlines
// (correctness 3). Whole seconds on the wire, so it is right to within a second. Confined to one loop.
//
// Deadlines of jobs hang on it, so one header alone does not move it far: a date that is more than two seconds from
// what is believed counts only once three answers in a row agree on it, and one that is more than 15 hours from the
// local clock never does (a clock that takes local time for UTC is off by 14 hours at most).
#include <cstdint>
#include <string_view>

#include "common/time/time_system.h"

namespace basalt::gateway {

class ApiClock {
 public:
  explicit ApiClock(const TimeSystem& time) : time_(time) {}

  // An answer that arrived just now. Only a 2xx counts: others may be a proxy's. Anything that is no HTTP date is
  // ignored.
  void Observe(int status, std::string_view date);
  // The local clock while the server's is not known. From there on the time never goes back, unless the server's clock
  // has gone back by more than a second.
  int64_t NowMs();
  bool known() const { return known_; }

 private:
  void Follow(int64_t offset_ms);
  int64_t LocalMs() const { return absl::ToUnixMillis(time_.Now()); }

  const TimeSystem& time_;
  bool known_ = false;
  int64_t offset_ms_ = 0;  // Server minus local; 0 while not known.
  int64_t last_ms_ = INT64_MIN;
  // The offset that the last so many answers agree on, all of them far from offset_ms_.
  int64_t candidate_ms_ = 0;
  int agreeing_ = 0;
  int too_far_ = 0;  // Answers in a row that were beyond the bound.
};

}  // namespace basalt::gateway
