#pragma once

// Readiness by named targets: a process that is not ready says which target it waits for, why, since when, and what a
// person can do about it.
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
    std::string why;    // What it waits for, or what is missing although it is ready; may be empty when ready.
    std::string cure;   // What to do; empty where there is nothing but to wait.
  };
  struct Target : Condition {
    std::string name;
    absl::Time since = absl::InfinitePast();  // When `state` began; infinite where there is no clock.
  };

  // `time` may be null: then nobody knows since when; it outlives this.
  explicit Health(const TimeSystem* time = nullptr) : time_(time) {}

  // Thread-safe. A target starts as not ready.
  void AddTarget(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  void SetReady(std::string_view name) BASALT_EXCLUDES(mutex_);
  void SetNotReady(std::string_view name, std::string_view why) BASALT_EXCLUDES(mutex_);
  void Set(std::string_view name, Condition condition) BASALT_EXCLUDES(mutex_);
  void Remove(std::string_view name) BASALT_EXCLUDES(mutex_);
  bool IsReady() const BASALT_EXCLUDES(mutex_);
  std::vector<Target> Targets() const BASALT_EXCLUDES(mutex_);  // Sorted by name.

 private:
  const TimeSystem* const time_;
  mutable Mutex mutex_;
  std::map<std::string, Target, std::less<>> targets_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::obs
