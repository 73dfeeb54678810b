#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace basalt::rpc {

// Decides when a stream that has ended may be opened again: at once if the stream was of use, else after a pause that
// doubles. A value of one owner; all times are of one clock.
class ReopenPause {
 public:
  static constexpr absl::Duration kFirst = absl::Milliseconds(100);
  static constexpr absl::Duration kMost = absl::Seconds(2);

  // `of_use`: the stream has brought an answer.
  void Ended(absl::Time when, bool of_use) {
    pause_ = of_use ? absl::ZeroDuration() : std::clamp(pause_ * 2, kFirst, kMost);
    until_ = when + pause_;
  }
  bool Blocks(absl::Time now) const { return now < until_; }

 private:
  absl::Duration pause_;
  absl::Time until_ = absl::InfinitePast();
};

}  // namespace basalt::rpc
