#pragma once

// How often one state is written again that somebody else undoes each time, in whichever part. A value; confined to the
// loop of its owner. All times are of one clock, which the caller passes in.
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
  // What was written so often, and undone each time but the last, somebody keeps undoing.
  static constexpr int kOften = 4;

  // Whether a write that brings about that state is not due yet. Another state than the last one is due kLeast after
  // that one was written.
  bool Blocks(absl::Time now, const std::string& state) const { return StillWaits(now, Until(state)); }
  absl::Time Until(const std::string& state) const { return state == last_ ? until_ : sent_ + kLeast; }

  // The state was written. The same one after a short while was undone meanwhile: the next write waits twice as long.
  // What has lasted for kMost after the wait was not undone by a habit.
  void Note(absl::Time now, std::string state) {
    const bool is_undone = state == last_ && IsRecent(now);
    times_ = is_undone ? times_ + 1 : 1;
    wait_ = is_undone ? std::min(wait_ * 2, kMost) : kLeast;
    last_ = std::move(state);
    sent_ = now;
    until_ = now + wait_;
  }
  // Whether somebody keeps undoing the last state.
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
