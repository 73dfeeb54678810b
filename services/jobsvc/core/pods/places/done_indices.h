#pragma once

// The indices of a job whose work is done although the pod is gone (W19), and whether the job's status reports exactly
// those. Pure.
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "services/jobsvc/core/pods/pod_rules.h"

namespace basalt::jobsvc {

class DoneIndices {
 public:
  // Forgets the indices and the report.
  void Clear();
  // Starts with this number of tasks, and no index that is done. Keeps the report.
  void Reset(size_t tasks);
  // Requires an index of a task, and a change.
  void Set(PodIndex place, bool is_done);
  // Sets the places that the status reports. A place that does not exist is reported and is not done.
  void SetReported(std::set<PodIndex> reported);

  // The indices by task.
  const std::vector<std::set<int32_t>>& by_task() const { return by_task_; }
  bool MatchReported() const { return unreported_ == 0; }
  // Grows with every change of the indices.
  uint64_t changes() const { return changes_; }

 private:
  std::vector<std::set<int32_t>> by_task_;
  std::set<PodIndex> reported_;
  // Number of places that are done and not reported so, or reported so and not done.
  int64_t unreported_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace basalt::jobsvc
