#pragma once

// Limits the work that other people's input may cause, counted in steps, since core has no clock. A value. Pure.
#include <algorithm>
#include <cstdint>

namespace basalt::pgsvc {

class StepBudget {
 public:
  // The steps for the grouping of one pod: some milliseconds.
  static constexpr int64_t kOfPod = 200'000;

  explicit StepBudget(int64_t steps = kOfPod) : most_(steps), left_(steps) {}

  // Returns false if the budget is spent; it stays spent. Requires: `steps` is not negative.
  bool Take(int64_t steps = 1) {
    if (left_ >= 0) left_ = steps > left_ ? -1 : left_ - steps;
    return left_ >= 0;
  }
  bool is_spent() const { return left_ < 0; }
  int64_t used() const { return most_ - std::max<int64_t>(left_, 0); }
  int64_t most() const { return most_; }

 private:
  int64_t most_;
  int64_t left_;  // Below 0 if spent.
};

}  // namespace basalt::pgsvc
