#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/reconcile/back_off.h"

namespace basalt {

// The tries of one thing that the API server or a peer did not accept: when the next try is due, and since when the
// tries fail. A value type: each thing that is retried has one, and the assignment of a fresh one begins anew. Confined
// to the loop of its owner. All times are of one clock, which the caller passes in.
class Retry {
 public:
  static constexpr BackOffPolicy kDefault = {.first = absl::Milliseconds(200), .most = absl::Seconds(30)};

  explicit Retry(BackOffPolicy policy = kDefault) : back_off_(policy) {}

  // Returns whether the next try is not due yet.
  bool Blocks(absl::Time now) const { return StillWaits(now, until_); }
  // Returns whether several tries have failed, one after the other: the wait has grown to two seconds or more.
  bool Lasts(absl::Time now) const { return until_ - now >= absl::Seconds(2); }
  // Returns when the next try is due. InfinitePast means at once.
  absl::Time until() const { return until_; }
  // Returns the time of the first failure since the last success. Nullopt if no try has failed since then.
  std::optional<absl::Time> since() const { return since_; }

  // Records a failed try. Tries that were under way together are one step of the back-off, however many of them fail.
  void Fail(absl::Time now, Random& random) {
    if (!Blocks(now)) until_ = now + back_off_.Next(random);
    if (!since_) since_ = now;
  }
  void Succeed() {
    back_off_.Reset();
    since_.reset();
    until_ = absl::InfinitePast();
  }
  // Sets the time of the next try, whatever the back-off requires. The failures so far still count.
  void Postpone(absl::Time until) { until_ = until; }

 private:
  BackOff back_off_;
  absl::Time until_ = absl::InfinitePast();
  std::optional<absl::Time> since_;
};

}  // namespace basalt
