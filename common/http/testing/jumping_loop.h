#pragma once

// A loop whose clock jumps forward, as that of a process that stood still meanwhile. Its timers do not jump.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/exec/loop.h"

namespace basalt::http::testing {

class JumpingLoop final : public Loop {
 public:
  static constexpr absl::Duration kJump = absl::Hours(1);

  explicit JumpingLoop(std::string name) : loop_(MakeThreadLoop(std::move(name))) {}

  // The clock jumps after other threads than the loop's have read the clock so many times more. Any thread.
  void JumpAfter(int looks) { looks_ = looks; }
  void JumpBack() { looks_ = kNever; }

  absl::Time Now() const override {
    const bool other = !loop_->IsCurrent();
    const int looks = looks_;
    const absl::Duration ahead = looks <= 0 ? kJump : absl::ZeroDuration();
    if (other && looks > 0 && looks != kNever) --looks_;
    return loop_->Now() + ahead;
  }
  TimerId RunAt(absl::Time when, Task task) override {
    return loop_->RunAt(looks_ <= 0 ? when - kJump : when, std::move(task));
  }
  void Cancel(TimerId id) override { loop_->Cancel(id); }
  void Post(Task task) override { loop_->Post(std::move(task)); }
  bool IsCurrent() const override { return loop_->IsCurrent(); }

 private:
  static constexpr int kNever = 1 << 30;
  const std::unique_ptr<Loop> loop_;
  mutable std::atomic<int> looks_{kNever};
};

}  // namespace basalt::http::testing
