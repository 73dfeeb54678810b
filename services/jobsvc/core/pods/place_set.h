#pragma once

// A set of places of pods that holds neighbours of one task as one range: places without a pod cost nothing but the
// ranges in which they lie. A change costs what a step in a tree of the ranges does. Iterated in the order of the
// places. Pure.
#include <cstddef>
#include <cstdint>
#include <map>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class PlaceSet {
 private:
  using Ranges = std::map<PodIndex, int32_t>;  // From its first place to the index behind its last one.

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

  // Requires: an index from 0 on, and below the greatest number. In already, or not in: nothing happens.
  void Insert(PodIndex place);
  void Erase(PodIndex place);
  // From an index up to one that is not in any more. Requires: none of it is in, and neither neighbour of it.
  void AddRange(int32_t task, int32_t from, int32_t to);
  void Clear();

  bool empty() const { return ranges_.empty(); }
  size_t size() const { return size_; }
  size_t ranges() const { return ranges_.size(); }
  Iterator begin() const { return {ranges_.begin(), ranges_.end()}; }
  Iterator end() const { return {ranges_.end(), ranges_.end()}; }
  // The first of that task or, where it has none, of those behind it.
  Iterator FirstOf(int32_t task) const { return {ranges_.lower_bound({task, -1}), ranges_.end()}; }

  friend bool operator==(const PlaceSet&, const PlaceSet&) = default;

 private:
  Ranges ranges_;  // None of them touches another of its task.
  size_t size_ = 0;
};

}  // namespace basalt::jobsvc
