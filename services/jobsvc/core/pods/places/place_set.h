#pragma once

// A set of places of pods that stores neighbours of one task as one range: memory grows with the number of ranges, not
// of places. A change costs one step in a tree of the ranges. Iterates in the order of the places. Pure.
#include <cstddef>
#include <cstdint>
#include <map>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class PlaceSet {
 private:
  using Ranges = std::map<PodIndex, int32_t>;  // First place of a range -> index behind its last place.

 public:
  class Iterator {
   public:
    Iterator(Ranges::const_iterator range, Ranges::const_iterator end) : range_(range), end_(end) { BeginRange(); }
    const PodIndex& operator*() const { return place_; }
    const PodIndex* operator->() const { return &place_; }
    Iterator& operator++() {
      if (++place_.index < range_->second) return *this;
      ++range_;
      BeginRange();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.range_ == b.range_ && a.place_ == b.place_;
    }

   private:
    void BeginRange() { place_ = range_ == end_ ? PodIndex() : range_->first; }

    Ranges::const_iterator range_;
    Ranges::const_iterator end_;
    PodIndex place_;
  };

  // Both do nothing if the place is in the set, or is not, already. Requires an index in [0, INT32_MAX).
  void Insert(PodIndex place);
  void Erase(PodIndex place);
  // Inserts the indices [from, to). Requires that neither they nor their two neighbours are in the set.
  void AddRange(int32_t task, int32_t from, int32_t to);
  void Clear();

  bool empty() const { return ranges_.empty(); }
  size_t size() const { return size_; }
  size_t ranges() const { return ranges_.size(); }
  Iterator begin() const { return {ranges_.begin(), ranges_.end()}; }
  Iterator end() const { return {ranges_.end(), ranges_.end()}; }
  // Returns the first place of the task, or of the tasks behind it if it has none.
  Iterator FirstOf(int32_t task) const { return {ranges_.lower_bound({task, -1}), ranges_.end()}; }

  friend bool operator==(const PlaceSet&, const PlaceSet&) = default;

 private:
  Ranges ranges_;  // No range touches another one of its task.
  size_t size_ = 0;
};

}  // namespace basalt::jobsvc
