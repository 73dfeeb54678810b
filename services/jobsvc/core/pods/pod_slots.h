#pragma once

// What is known of the pods of one task, by index. Memory is taken for pods, not for indices: room is made for an index
// and its neighbours together, and given back when nothing is in it any more. Pure.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class PodSlots {
 public:
  // So many indices, from 0 on, have room made together: where one of them has it, so have the others.
  static constexpr int32_t kNeighbours = 64;

  explicit PodSlots(int32_t size) : size_(size) {}

  // Null: there is no room, hence nothing in it. A pointer holds until the room is given back.
  PodEntry* Find(int32_t index);
  // Makes room where there is none. Requires: 0 <= index < size.
  PodEntry& Make(int32_t index);
  // Gives room back if this one and its neighbours are empty.
  void Release(int32_t index);
  // So many entries take memory.
  size_t room() const;

  template <typename Visit>  // Visit(index, entry) of those that are not empty, in order.
  void ForEach(Visit visit) const {
    ForEachOf(0, size_, visit);
  }
  // The same of the indices from `first` up to `last`, which is not among them.
  template <typename Visit>
  void ForEachOf(int32_t first, int32_t last, Visit visit) const {
    for (auto group = groups_.lower_bound(first / kNeighbours); group != groups_.end(); ++group) {
      int32_t index = group->first * kNeighbours;
      if (index >= last) return;
      for (const PodEntry& entry : group->second) {
        if (index >= first && index < last && !entry.empty()) visit(index, entry);
        ++index;
      }
    }
  }

 private:
  int32_t size_;
  std::map<int32_t, std::vector<PodEntry>> groups_;  // By index / kNeighbours. Their size never changes.
};

}  // namespace basalt::jobsvc
