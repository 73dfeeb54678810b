#pragma once

// Readiness by named targets: a process that is not ready names the target that it waits for, the reason, the time
// since when, and what a person can do about it.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/time/time_system.h"

namespace basalt::obs {

class Health {
 public:
  struct Condition {
    bool ready = false;
    std::string state;  // One word, for tools: "starting", "ready", "forbidden", …
    std::string why;    // Names what the target waits for, or lacks although it is ready. May be empty when ready.
    std::string cure;   // States what to do. Empty if one can only wait.
  };
  struct Target : Condition {
    std::string name;
    absl::Time since = absl::InfinitePast();  // The time at which `state` began. InfinitePast if Health has no clock.
  };

  // `time` must outlive this object. It may be null; `since` is unknown then.
  explicit Health(const TimeSystem* time = nullptr) : time_(time) {}

  // Adds a target, which is not ready at first. All methods are thread-safe.
  void AddTarget(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  void SetReady(std::string_view name) BASALT_EXCLUDES(mutex_);
  void SetNotReady(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  void Set(std::string_view name, Condition condition) BASALT_EXCLUDES(mutex_);
  void Remove(std::string_view name) BASALT_EXCLUDES(mutex_);
  bool IsReady() const BASALT_EXCLUDES(mutex_);
  std::vector<Target> Targets() const BASALT_EXCLUDES(mutex_);  // Returns the targets sorted by name.

 private:
  const TimeSystem* const time_;
  mutable Mutex mutex_;
  std::map<std::string, Target, std::less<>> targets_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::obs
