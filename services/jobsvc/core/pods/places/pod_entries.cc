#include "services/jobsvc/core/pods/places/pod_entries.h"

namespace basalt::jobsvc {

void PodEntries::Reset(const std::vector<TaskShape>& tasks) {
  others_.clear();
  slots_.clear();
  for (const TaskShape& task : tasks) slots_.emplace_back(task.replicas);
}

PodEntry* PodEntries::Find(std::string_view name, PodIndex place) {
  return const_cast<PodEntry*>(static_cast<const PodEntries*>(this)->Find(name, place));
}

const PodEntry* PodEntries::Find(std::string_view name, PodIndex place) const {
  if (place.indexed()) return slots_[place.task].Find(place.index);
  const auto it = others_.find(name);
  return it == others_.end() ? nullptr : &it->second.entry;
}

PodEntry& PodEntries::Make(std::string_view name, PodIndex place) {
  if (place.indexed()) return slots_[place.task].Make(place.index);
  Other& other = others_[std::string(name)];
  other.task = place.task;
  return other.entry;
}

void PodEntries::Release(std::string_view name, PodIndex place) {
  if (place.indexed()) {
    slots_[place.task].Release(place.index);
  } else {
    others_.erase(others_.find(name));
  }
}

size_t PodEntries::room() const {
  size_t room = 0;
  for (const PodSlots& slots : slots_) room += slots.room();
  return room;
}

}  // namespace basalt::jobsvc
