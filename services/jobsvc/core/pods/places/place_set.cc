#include "services/jobsvc/core/pods/places/place_set.h"

#include <iterator>

namespace basalt::jobsvc {

void PlaceSet::Insert(PodIndex place) {
  const auto behind = ranges_.upper_bound(place);
  const auto before = behind == ranges_.begin() ? ranges_.end() : std::prev(behind);
  const bool reaches_it = before != ranges_.end() && before->first.task == place.task && before->second >= place.index;
  if (reaches_it && before->second > place.index) return;
  const bool joins_behind = behind != ranges_.end() && behind->first == PodIndex{place.task, place.index + 1};
  const int32_t end = joins_behind ? behind->second : place.index + 1;
  if (joins_behind) ranges_.erase(behind);
  if (reaches_it) {
    before->second = end;
  } else {
    ranges_.emplace(place, end);
  }
  ++size_;
}

void PlaceSet::Erase(PodIndex place) {
  const auto behind = ranges_.upper_bound(place);
  if (behind == ranges_.begin()) return;
  const auto range = std::prev(behind);
  const int32_t end = range->second;
  if (range->first.task != place.task || end <= place.index) return;
  if (range->first == place) {
    ranges_.erase(range);
  } else {
    range->second = place.index;
  }
  if (place.index + 1 < end) ranges_.emplace_hint(behind, PodIndex{place.task, place.index + 1}, end);
  --size_;
}

void PlaceSet::AddRange(int32_t task, int32_t from, int32_t to) {
  if (from >= to) return;
  ranges_.emplace_hint(ranges_.end(), PodIndex{task, from}, to);
  const int32_t more = to - from;
  size_ += static_cast<size_t>(more);
}

void PlaceSet::Clear() {
  ranges_.clear();
  size_ = 0;
}

}  // namespace basalt::jobsvc
