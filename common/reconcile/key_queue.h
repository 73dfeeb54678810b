#pragma once

// The dirty keys of one worker. A key is queued once, keys leave in the order in which they came, and the keys of a
// paused group (a slot) are held back. Each key may also have a wake-up time. Confined to one loop. All methods but
// Take and TakeGroup may be repeated.
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
  // `now` is the clock of the wake-up times. It may differ from the clock of `time`, and may be set forward or back
  // (ClockChanged). If it is set back by more than a second, the wake-ups move back by as much, since most are waits.
  // `on_work` is called when the first key becomes ready, inside Add, Resume or a timer's task. The queue must outlive
  // its timers' tasks, or be destroyed on the loop.
  KeyQueue(TimeSystem& time, std::function<absl::Time()> now, std::function<void()> on_work);
  ~KeyQueue();
  KeyQueue(const KeyQueue&) = delete;
  KeyQueue& operator=(const KeyQueue&) = delete;

  // A group starts paused.
  void Resume(uint32_t group);
  void Pause(uint32_t group);
  // Forgets the group's keys and wake-ups. The group is paused from then on.
  void Drop(uint32_t group);

  void Add(std::string_view key, uint32_t group);
  // Adds the key at `when` at the latest. An earlier time of the key stays.
  void AddAt(std::string_view key, uint32_t group, absl::Time when);
  // Call it when the clock of the wake-up times may have been set.
  void ClockChanged();

  // Returns up to `limit` keys of groups that are not paused. They are not dirty any more.
  std::vector<std::string> Take(size_t limit);
  // Returns all keys of one group, paused or not. They are not dirty any more.
  std::vector<std::string> TakeGroup(uint32_t group);
  bool HasWork() const { return ready_ > 0; }
  size_t dirty() const { return dirty_; }  // Counts the keys of paused groups, too.
  std::optional<absl::Time> WakeTime(std::string_view key, uint32_t group) const;

 private:
  struct Group {
    bool paused = true;
    std::set<std::string, std::less<>> dirty;
    std::deque<std::string> held;  // Dirty keys that are not in `order_` since the group is paused.
    std::map<std::string, absl::Time, std::less<>> wakes;
  };

  void Arm();
  void Fire();

  TimeSystem& time_;
  const std::function<absl::Time()> now_;
  const std::function<void()> on_work_;
  std::unordered_map<uint32_t, Group> groups_;  // No code iterates over it.
  // May name keys that were dropped or taken meanwhile. Only keys in `dirty` of the group count.
  std::deque<std::pair<uint32_t, std::string>> order_;
  size_t ready_ = 0;
  size_t dirty_ = 0;
  std::set<std::tuple<absl::Time, uint32_t, std::string>> wakes_;
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_;
  absl::Duration ahead_;  // The lead of the wake-ups' clock over `time_`, as of the last ClockChanged.
};

}  // namespace basalt
