#include "services/jobsvc/core/pods/places/done_indices.h"

#include <utility>

namespace basalt::jobsvc {

void DoneIndices::Clear() {
  reported_.clear();
  Reset(0);
}

void DoneIndices::Reset(size_t tasks) {
  by_task_.assign(tasks, {});
  unreported_ = static_cast<int64_t>(reported_.size());
  ++changes_;
}

void DoneIndices::Set(PodIndex place, bool is_done) {
  ++changes_;
  unreported_ += is_done == reported_.contains(place) ? -1 : 1;
  if (is_done) {
    by_task_[place.task].insert(place.index);
  } else {
    by_task_[place.task].erase(place.index);
  }
}

void DoneIndices::SetReported(std::set<PodIndex> reported) {
  reported_ = std::move(reported);
  unreported_ = static_cast<int64_t>(reported_.size());
  for (size_t task = 0; task < by_task_.size(); ++task) {
    for (const int32_t index : by_task_[task]) {
      unreported_ += reported_.contains({static_cast<int32_t>(task), index}) ? -1 : 1;
    }
  }
}

}  // namespace basalt::jobsvc
