#pragma once

// Calls a function in a task of its own, and only once if it is requested several times before the task runs. Confined
// to the server's loop.
#include <functional>
#include <utility>

#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

class Wakeup {
 public:
  Wakeup(OwnedTasks& tasks, std::function<void()> run) : tasks_(tasks), run_(std::move(run)) {}

  void Ask(absl::Duration delay = absl::ZeroDuration()) {
    if (std::exchange(asked_, true)) return;
    const auto task = [this] {
      asked_ = false;
      run_();
    };
    if (delay > absl::ZeroDuration()) {
      tasks_.RunAfter(delay, task);
    } else {
      tasks_.Post(task);
    }
  }

 private:
  OwnedTasks& tasks_;
  const std::function<void()> run_;
  bool asked_ = false;
};

}  // namespace basalt::kubesim
