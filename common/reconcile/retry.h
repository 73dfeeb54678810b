#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/reconcile/back_off.h"

namespace basalt {

// Trying one thing again that the API server or a peer did not accept: when the next try is due, and since when the
// tries fail. A value: each thing that is retried has one, and begins anew by being assigned a fresh one. Confined to
// the loop of its owner. All times are of one clock, which the caller passes in.
class Retry {
 public:
  static constexpr BackOffPolicy kDefault = {.first = absl::Milliseconds(200), .most = absl::Seconds(30)};

  explicit Retry(BackOffPolicy policy = kDefault) : back_off_(policy) {}

  // Whether the next try is not due yet.
  bool Blocks(absl::Time now) const { return StillWaits(now, until_); }
  // Whether several tries have failed, one after the other: the wait has grown to two seconds or more.
  bool Lasts(absl::Time now) const { return until_ - now >= absl::Seconds(2); }
  // When the next try is due; InfinitePast: at once.
  absl::Time until() const { return until_; }
  // The first failure since the last success.
  std::optional<absl::Time> since() const { return since_; }

  // A try failed. Tries that were under way together are one step of the back-off, however many of them fail.
  void Fail(absl::Time now, Random& random) {
    if (!Blocks(now)) until_ = now + back_off_.Next(random);
    if (!since_) since_ = now;
  }
  void Succeed() {
    back_off_.Reset();
    since_.reset();
    until_ = absl::InfinitePast();
  }
  // The next try is due then, whatever the back-off says; the failures so far stay.
  void Postpone(absl::Time until) { until_ = until; }

 private:
  BackOff back_off_;
  absl::Time until_ = absl::InfinitePast();
  std::optional<absl::Time> since_;
};

}  // namespace basalt
