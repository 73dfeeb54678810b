#pragma once

#include <memory>
#include <string>

#include "common/time/time_system.h"

namespace basalt {

// A serial executor with its own timers: posted tasks and timers run one after the other. A component is confined to
// one loop and then needs no locks. Post, RunAt and Cancel may be called from any thread.
class Loop : public TimeSystem {
 public:
  virtual void Post(Task task) = 0;
  // Returns whether the caller runs on this loop.
  virtual bool IsCurrent() const = 0;
};

// Returns a loop with its own thread. The destructor runs the tasks that were posted before, then joins the thread. It
// drops later posts and all timers that are not due.
std::unique_ptr<Loop> MakeThreadLoop(std::string name);

}  // namespace basalt
