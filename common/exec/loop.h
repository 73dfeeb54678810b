#pragma once

#include <memory>
#include <string>

#include "common/time/time_system.h"

namespace basalt {

// A serial executor with timers of its own: whatever is posted, and every timer, runs one after the other. A component
// is confined to one loop and then needs no locks. Post may be called from any thread; RunAt and Cancel too.
class Loop : public TimeSystem {
 public:
  virtual void Post(Task task) = 0;
  // True on the loop itself.
  virtual bool IsCurrent() const = 0;
};

// A loop with a thread of its own. The destructor runs what was posted before it and then joins; later posts and all
// timers that are not due are dropped.
std::unique_ptr<Loop> MakeThreadLoop(std::string name);

}  // namespace basalt
