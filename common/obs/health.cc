#include "common/obs/health.h"

namespace basalt::obs {

void Health::AddTarget(std::string_view name, std::string_view why) { SetNotReady(name, why); }

void Health::SetReady(std::string_view name) {
  MutexLock lock(mutex_);
  targets_[std::string(name)] = {std::string(name), true, ""};
}

void Health::SetNotReady(std::string_view name, std::string_view why) {
  MutexLock lock(mutex_);
  targets_[std::string(name)] = {std::string(name), false, std::string(why)};
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
