#pragma once

// Readiness by named targets: a process that is not ready says which target it waits for and why.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"

namespace basalt::obs {

class Health {
 public:
  struct Target {
    std::string name;
    bool ready = false;
    std::string why;  // What it waits for; empty when ready.
  };

  // Thread-safe. A target starts as not ready.
  void AddTarget(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  void SetReady(std::string_view name) BASALT_EXCLUDES(mutex_);
  void SetNotReady(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  bool IsReady() const BASALT_EXCLUDES(mutex_);
  std::vector<Target> Targets() const BASALT_EXCLUDES(mutex_);  // Sorted by name.

 private:
  mutable Mutex mutex_;
  std::map<std::string, Target, std::less<>> targets_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::obs
