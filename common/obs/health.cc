#include "common/obs/health.h"

#include <utility>

namespace basalt::obs {

void Health::AddTarget(std::string_view name, std::string_view why) {
  Set(name, {.ready = false, .state = "starting", .why = std::string(why), .cure = ""});
}

void Health::SetReady(std::string_view name) { Set(name, {.ready = true, .state = "ready", .why = "", .cure = ""}); }

void Health::SetNotReady(std::string_view name, std::string_view why) {
  Set(name, {.ready = false, .state = "waiting", .why = std::string(why), .cure = ""});
}

void Health::Set(std::string_view name, Condition condition) {
  const absl::Time now = time_ == nullptr ? absl::InfinitePast() : time_->Now();
  MutexLock lock(mutex_);
  Target& target = targets_[std::string(name)];
  if (target.name.empty() || target.state != condition.state) target.since = now;
  target.name = name;
  static_cast<Condition&>(target) = std::move(condition);
}

void Health::Remove(std::string_view name) {
  MutexLock lock(mutex_);
  if (const auto found = targets_.find(name); found != targets_.end()) targets_.erase(found);
}

bool Health::IsReady() const {
  MutexLock lock(mutex_);
  for (const auto& [name, target] : targets_) {
    if (!target.ready) return false;
  }
  return true;
}

std::vector<Health::Target> Health::Targets() const {
  MutexLock lock(mutex_);
  std::vector<Target> all;
  for (const auto& [name, target] : targets_) all.push_back(target);
  return all;
}

}  // namespace basalt::obs
