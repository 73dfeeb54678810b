#pragma once

// Limits the rate of a kind of log line of which others can cause any number. One thread.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace basalt::obs {

class LogLimit {
 public:
  explicit LogLimit(absl::Duration between) : between_(between) {}

  // Returns, if the line may be written, how many lines were held back since the last written one. Nullopt if the line
  // must be held back; it is counted.
  std::optional<int64_t> Take(absl::Time now) {
    if (now < next_) {
      ++held_back_;
      return std::nullopt;
    }
    next_ = now + between_;
    return std::exchange(held_back_, 0);
  }

 private:
  const absl::Duration between_;
  absl::Time next_ = absl::InfinitePast();
  int64_t held_back_ = 0;
};

}  // namespace basalt::obs
