#include "services/jobsvc/core/pods/places/job_shape.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace basalt::jobsvc {

std::optional<ParsedPodName> ParsePodName(std::string_view name, std::string_view job) {
  if (name.size() <= job.size() + 1 || !name.starts_with(job) || name[job.size()] != '-') return std::nullopt;
  const std::string_view rest = name.substr(job.size() + 1);
  const size_t dash = rest.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = rest.substr(dash + 1);
  int32_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool canonical = error == std::errc() && end == digits.data() + digits.size() && index >= 0 &&
                         (digits.size() == 1 || digits[0] != '0');
  return ParsedPodName{rest.substr(0, dash), canonical ? index : -1};
}

void JobShape::SetTasks(std::vector<TaskShape> tasks) {
  tasks_ = std::move(tasks);
  task_of_.clear();
  total_ = 0;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].replicas < 0) tasks_[task].replicas = 0;
    total_ += tasks_[task].replicas;
    task_of_.emplace(tasks_[task].name, static_cast<int32_t>(task));
  }
}

int32_t JobShape::TaskOf(std::string_view name) const {
  const auto task = task_of_.find(name);
  return task == task_of_.end() ? -1 : task->second;
}

PodIndex JobShape::PlaceOf(std::string_view name) const {
  const std::optional<ParsedPodName> parsed = ParsePodName(name, job_name_);
  const auto task = parsed ? task_of_.find(parsed->task) : task_of_.end();
  if (task == task_of_.end()) return {};
  return {task->second, parsed->index < tasks_[task->second].replicas ? parsed->index : -1};
}

std::string JobShape::NameOf(PodIndex place) const {
  return fmt::format("{}-{}-{}", job_name_, tasks_[place.task].name, place.index);
}

}  // namespace basalt::jobsvc
