#pragma once

// The tasks of one job, and the names and places of its pods. A name is <job>-<task>-<index>. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/jobsvc/core/pods/pod_rules.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

// The parts of the name <job>-<task>-<index>. The index is what follows the last dash, so that the task is unambiguous.
struct ParsedPodName {
  std::string_view task;
  int32_t index = -1;  // -1 if the last part is no index in canonical form.
};
// Nullopt if the name is none of that job's.
std::optional<ParsedPodName> ParsePodName(std::string_view name, std::string_view job);

class JobShape {
 public:
  explicit JobShape(std::string_view job_name = {}) : job_name_(job_name) {}

  // A negative number of replicas means none.
  void SetTasks(std::vector<TaskShape> tasks);

  const std::vector<TaskShape>& tasks() const { return tasks_; }
  // Number of indices of all tasks.
  int64_t total() const { return total_; }
  // Returns the position of the task. -1 if there is no such task.
  int32_t TaskOf(std::string_view name) const;
  // Returns the place that the name of a pod means.
  PodIndex PlaceOf(std::string_view name) const;
  // Returns the name of the pod at an index of a task.
  std::string NameOf(PodIndex place) const;

 private:
  std::string job_name_;
  std::vector<TaskShape> tasks_;
  std::map<std::string, int32_t, std::less<>> task_of_;
  int64_t total_ = 0;
};

}  // namespace basalt::jobsvc
