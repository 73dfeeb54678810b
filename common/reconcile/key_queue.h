#pragma once

// The dirty keys of one worker: merged, first come first served, and held back while their group (a slot) is paused.
// Beside them one wake-up time per key. Confined to one loop.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/time/time_system.h"

namespace basalt {

class KeyQueue {
 public:
  // `now` is the clock of the wake-up times; it may differ from that of `time`, and may be set forward or back
  // (ClockChanged): back by more than a second brings the wake-ups forward by as much, since most are waits.
  // `on_work` is called when there is something to take where there was nothing. The queue outlives its timers' loop
  // tasks or is destroyed on the loop.
  KeyQueue(TimeSystem& time, std::function<absl::Time()> now, std::function<void()> on_work);
  ~KeyQueue();
  KeyQueue(const KeyQueue&) = delete;
  KeyQueue& operator=(const KeyQueue&) = delete;

  // A group starts paused.
  void Resume(uint32_t group);
  void Pause(uint32_t group);
  // Forgets the group's keys and wake-ups.
  void Drop(uint32_t group);

  void Add(std::string_view key, uint32_t group);
  // Adds the key at `when` at the latest. An earlier time that is set already stays.
  void AddAt(std::string_view key, uint32_t group, absl::Time when);
  void ClockChanged();

  // Up to `limit` keys of groups that are not paused. They are not dirty any more.
  std::vector<std::string> Take(size_t limit);
  // All of one group, paused or not.
  std::vector<std::string> TakeGroup(uint32_t group);
  bool HasWork() const { return ready_ > 0; }
  size_t dirty() const { return dirty_; }  // Paused ones too.
  std::optional<absl::Time> WakeTime(std::string_view key, uint32_t group) const;

 private:
  struct Group {
    bool paused = true;
    std::set<std::string, std::less<>> dirty;
    std::deque<std::string> held;  // Taken out of `order_` while paused.
    std::map<std::string, absl::Time, std::less<>> wakes;
  };

  void Arm();
  void Fire();

  TimeSystem& time_;
  const std::function<absl::Time()> now_;
  const std::function<void()> on_work_;
  std::unordered_map<uint32_t, Group> groups_;  // Never walked.
  // May name keys that were dropped or taken since: `dirty` of the group decides.
  std::deque<std::pair<uint32_t, std::string>> order_;
  size_t ready_ = 0;
  size_t dirty_ = 0;
  std::set<std::tuple<absl::Time, uint32_t, std::string>> wakes_;
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_;
  absl::Duration ahead_;  // Of `time`: the clock of the wake-ups, when it was last looked at.
};

}  // namespace basalt
