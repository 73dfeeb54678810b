#pragma once

#include <cstdint>

namespace basalt::watch {

// The position up to which the changes of a slot have been sent (correctness 5). Revisions count from 1. A slot without
// changes has no incarnation.
struct WatchPosition {
  uint64_t incarnation = 0;
  int64_t revision = 0;
  friend bool operator==(const WatchPosition&, const WatchPosition&) = default;
};

}  // namespace basalt::watch
