#include "gateway/session/backlog.h"

#include <algorithm>
#include <limits>
#include <set>

namespace basalt::gateway {

bool Backlog::Mark(ObjectId id) {
  if (marked_.size() <= id) marked_.resize(std::max<size_t>(2 * marked_.size(), id + 1));
  if (marked_[id]) return false;
  marked_[id] = true;
  ++count_;
  return true;
}

bool Backlog::Unmark(ObjectId id) {
  if (!IsMarked(id)) return false;
  marked_[id] = false;
  --count_;
  return true;
}

void Backlog::Add(ObjectId id) {
  if (!Mark(id)) return;
  queue_.emplace_back(++position_, id);
  // A key that is unmarked and added again while nothing is sent would add an entry each time.
  if (queue_.size() > 2 * static_cast<size_t>(count_) + kSlack) Compact();
}

void Backlog::Compact() {
  std::set<ObjectId> kept;  // Each key is sent by its first entry.
  std::erase_if(queue_, [&](const auto& entry) { return !marked_[entry.second] || !kept.insert(entry.second).second; });
}

ObjectId Backlog::First() {
  while (!queue_.empty() && !marked_[queue_.front().second]) queue_.pop_front();
  return queue_.empty() ? kNoObject : queue_.front().second;
}

void Backlog::Add(const TombstoneKey& key) {
  if (due_positions_.contains(key)) return;
  due_positions_[key] = ++position_;
  due_[position_] = key;
}

void Backlog::PopTombstone() {
  due_positions_.erase(due_.begin()->second);
  due_.erase(due_.begin());
}

void Backlog::DropTombstones(uint32_t slot) {
  std::erase_if(due_positions_, [slot](const auto& entry) { return entry.first.slot == slot; });
  std::erase_if(due_, [slot](const auto& entry) { return entry.second.slot == slot; });
}

uint64_t Backlog::Front() {
  uint64_t front = std::numeric_limits<uint64_t>::max();
  if (First() != kNoObject) front = queue_.front().first;
  if (!due_.empty()) front = std::min(front, due_.begin()->first);
  return front;
}

}  // namespace basalt::gateway
