#include "services/jobsvc/core/pods/places/pod_slots.h"

#include <algorithm>

namespace basalt::jobsvc {

const PodEntry* PodSlots::Find(int32_t index) const {
  const auto group = groups_.find(index / kNeighbours);
  return group == groups_.end() ? nullptr : &group->second[index % kNeighbours];
}

PodEntry& PodSlots::Make(int32_t index) {
  const int32_t group = index / kNeighbours;
  std::vector<PodEntry>& entries = groups_[group];
  if (entries.empty()) {
    const int32_t left = size_ - group * kNeighbours;
    entries = std::vector<PodEntry>(static_cast<size_t>(std::min(kNeighbours, left)));
  }
  return entries[index % kNeighbours];
}

void PodSlots::Release(int32_t index) {
  const auto group = groups_.find(index / kNeighbours);
  if (group == groups_.end()) return;
  const std::vector<PodEntry>& entries = group->second;
  if (std::all_of(entries.begin(), entries.end(), [](const PodEntry& entry) { return entry.empty(); })) {
    groups_.erase(group);
  }
}

size_t PodSlots::room() const {
  size_t room = 0;
  for (const auto& [group, entries] : groups_) room += entries.size();
  return room;
}

}  // namespace basalt::jobsvc
