#pragma once

// The entries of the pods of one task, by index. Memory is taken for pods, not for indices: an index and its neighbours
// get their entries together, and lose them when all of these are empty. Pure.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class PodSlots {
 public:
  // Number of neighbouring indices, from 0 on, whose entries are allocated together.
  static constexpr int32_t kNeighbours = 64;

  explicit PodSlots(int32_t size) : size_(size) {}

  // Null if the entry is not allocated, hence empty. The pointer is valid until the entry is released.
  const PodEntry* Find(int32_t index) const;
  // Returns the entry, allocated if needed. Requires 0 <= index < size.
  PodEntry& Make(int32_t index);
  // Frees the entries of the index and its neighbours if all of them are empty.
  void Release(int32_t index);
  // Number of allocated entries.
  size_t room() const;

  template <typename Visit>  // Calls visit(index, entry) for entries that are not empty, in order.
  void ForEach(Visit visit) const {
    ForEachOf(0, size_, visit);
  }
  // Like ForEach(), for the indices in [first, last).
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
  std::map<int32_t, std::vector<PodEntry>> groups_;  // By index / kNeighbours. The vectors never change their size.
};

}  // namespace basalt::jobsvc
