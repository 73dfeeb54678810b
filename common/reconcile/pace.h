#pragma once

// Limits how often a state is written again after another program has undone a part of it. A value type, confined to
// the loop of its owner. All times are of one clock, which the caller passes in.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/reconcile/back_off.h"

namespace basalt {

class Pace {
 public:
  static constexpr absl::Duration kLeast = absl::Seconds(1);
  static constexpr absl::Duration kMost = absl::Minutes(1);
  // After so many writes of one state, each but the last one undone, another program keeps undoing the state.
  static constexpr int kOften = 4;

  // Returns whether a write of that state is not due yet. A state that differs from the last one is due kLeast after
  // the last write.
  bool Blocks(absl::Time now, const std::string& state) const { return StillWaits(now, Until(state)); }
  absl::Time Until(const std::string& state) const { return state == last_ ? until_ : sent_ + kLeast; }

  // Records a write of the state. If the same state was written a short while ago, it was undone meanwhile, and the
  // next write waits twice as long. A state that has lasted for kMost after its wait begins with kLeast again. Call it
  // once for each write.
  void Note(absl::Time now, std::string state) {
    const bool is_undone = state == last_ && IsRecent(now);
    times_ = is_undone ? times_ + 1 : 1;
    wait_ = is_undone ? std::min(wait_ * 2, kMost) : kLeast;
    last_ = std::move(state);
    sent_ = now;
    until_ = now + wait_;
  }
  // Returns whether another program keeps undoing the last state.
  bool IsFought(absl::Time now) const { return times_ >= kOften && IsRecent(now); }

 private:
  bool IsRecent(absl::Time now) const { return now < until_ + kMost; }

  std::string last_;
  int times_ = 0;
  absl::Duration wait_ = kLeast;
  absl::Time sent_ = absl::InfinitePast();
  absl::Time until_ = absl::InfinitePast();
};

}  // namespace basalt
