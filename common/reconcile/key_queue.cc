#include "common/reconcile/key_queue.h"

#include <algorithm>

namespace basalt {

KeyQueue::KeyQueue(TimeSystem& time, std::function<absl::Time()> now, std::function<void()> on_work)
    : time_(time), now_(std::move(now)), on_work_(std::move(on_work)), ahead_(now_() - time_.Now()) {}

KeyQueue::~KeyQueue() { time_.Cancel(timer_); }

void KeyQueue::Resume(uint32_t group) {
  Group& it = groups_[group];
  if (!it.paused) return;
  it.paused = false;
  for (std::string& key : it.held) order_.emplace_back(group, std::move(key));
  it.held.clear();
  const bool was_idle = ready_ == 0;
  ready_ += it.dirty.size();
  if (was_idle && ready_ > 0) on_work_();
}

void KeyQueue::Pause(uint32_t group) {
  Group& it = groups_[group];
  if (it.paused) return;
  it.paused = true;
  ready_ -= it.dirty.size();
}

void KeyQueue::Drop(uint32_t group) {
  const auto it = groups_.find(group);
  if (it == groups_.end()) return;
  dirty_ -= it->second.dirty.size();
  if (!it->second.paused) ready_ -= it->second.dirty.size();
  for (const auto& [key, when] : it->second.wakes) wakes_.erase({when, group, key});
  groups_.erase(it);
  Arm();
}

void KeyQueue::Add(std::string_view key, uint32_t group) {
  Group& it = groups_[group];
  if (it.dirty.contains(key)) return;
  it.dirty.emplace(key);
  ++dirty_;
  if (it.paused) {
    it.held.emplace_back(key);
    return;
  }
  order_.emplace_back(group, key);
  if (++ready_ == 1) on_work_();
}

void KeyQueue::AddAt(std::string_view key, uint32_t group, absl::Time when) {
  Group& it = groups_[group];
  const auto found = it.wakes.find(key);
  if (found != it.wakes.end()) {
    if (found->second <= when) return;
    wakes_.erase({found->second, group, found->first});
    found->second = when;
  } else {
    it.wakes.emplace(key, when);
  }
  wakes_.emplace(when, group, std::string(key));
  Arm();
}

std::vector<std::string> KeyQueue::Take(size_t limit) {
  std::vector<std::string> keys;
  while (keys.size() < limit && !order_.empty()) {
    auto [group, key] = std::move(order_.front());
    order_.pop_front();
    const auto it = groups_.find(group);
    if (it == groups_.end() || !it->second.dirty.contains(key)) continue;
    if (it->second.paused) {
      it->second.held.push_back(std::move(key));
      continue;
    }
    it->second.dirty.erase(key);
    --dirty_;
    --ready_;
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> KeyQueue::TakeGroup(uint32_t group) {
  const auto it = groups_.find(group);
  if (it == groups_.end()) return {};
  std::vector<std::string> keys(it->second.dirty.begin(), it->second.dirty.end());
  dirty_ -= keys.size();
  if (!it->second.paused) ready_ -= keys.size();
  it->second.dirty.clear();
  it->second.held.clear();
  return keys;
}

std::optional<absl::Time> KeyQueue::WakeTime(std::string_view key, uint32_t group) const {
  const auto it = groups_.find(group);
  if (it == groups_.end()) return std::nullopt;
  const auto found = it->second.wakes.find(key);
  if (found == it->second.wakes.end()) return std::nullopt;
  return found->second;
}

void KeyQueue::ClockChanged() {
  const absl::Duration ahead = now_() - time_.Now();
  const absl::Duration back = ahead_ - ahead;
  if (back > absl::ZeroDuration() && back <= absl::Seconds(1)) return Arm();
  ahead_ = ahead;
  if (back > absl::ZeroDuration()) {
    std::set<std::tuple<absl::Time, uint32_t, std::string>> earlier;
    for (const auto& [when, group, key] : wakes_) {
      earlier.emplace(when - back, group, key);
      groups_[group].wakes[key] = when - back;
    }
    wakes_ = std::move(earlier);
    time_.Cancel(timer_);
    timer_ = kNoTimer;
  }
  Arm();
}

void KeyQueue::Arm() {
  if (wakes_.empty()) {
    time_.Cancel(timer_);
    timer_ = kNoTimer;
    return;
  }
  const absl::Time at = time_.Now() + (std::get<0>(*wakes_.begin()) - now_());
  if (timer_ != kNoTimer) {
    if (at >= timer_at_) return;  // The timer fires early enough, and arms itself again.
    time_.Cancel(timer_);
  }
  timer_at_ = at;
  timer_ = time_.RunAt(at, [this] {
    timer_ = kNoTimer;
    Fire();
  });
}

void KeyQueue::Fire() {
  const absl::Time now = now_();
  while (!wakes_.empty() && std::get<0>(*wakes_.begin()) <= now) {
    const auto node = wakes_.extract(wakes_.begin());
    const auto& [when, group, key] = node.value();
    groups_[group].wakes.erase(key);
    Add(key, group);
  }
  Arm();
}

}  // namespace basalt
