#include "services/jobsvc/core/pods/status_facts.h"

#include <algorithm>

#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc {

using kube::v1::JobStatus;

namespace {

constexpr std::string_view kMarkerPrefix = "plugin-";

}  // namespace

void PutCounts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks,
               const std::vector<TaskShape>& shapes, JobStatus& status) {
  *status.mutable_counts() = counts;
  status.clear_task_status_count();
  for (size_t i = 0; i < tasks.size() && i < shapes.size(); ++i) {
    const TaskCounts& task = tasks[i];
    if (!HasPods(task)) continue;
    auto* entry = status.add_task_status_count();
    entry->set_task(shapes[i].name);
    entry->mutable_counts()->set_pending(task.pending);
    entry->mutable_counts()->set_running(task.running);
    entry->mutable_counts()->set_succeeded(task.succeeded);
    entry->mutable_counts()->set_failed(task.failed);
    entry->mutable_counts()->set_unknown(task.unknown);
  }
  std::sort(status.mutable_task_status_count()->begin(), status.mutable_task_status_count()->end(),
            [](const auto& a, const auto& b) { return a.task() < b.task(); });
}

bool SameCounts(const kube::v1::PodCounts& a, const kube::v1::PodCounts& b) {
  return a.pending() == b.pending() && a.running() == b.running() && a.succeeded() == b.succeeded() &&
         a.failed() == b.failed() && a.unknown() == b.unknown() && a.terminating() == b.terminating();
}

bool HasMarkers(const JobStatus& stored, const std::map<std::string, std::string>& markers) {
  size_t found = 0;
  for (const auto& entry : stored.controlled_resources()) {
    if (markers.contains(entry.key())) {
      ++found;
    } else if (entry.key().starts_with(kMarkerPrefix)) {
      return false;
    }
  }
  return found == markers.size();
}

void PutMarkers(const std::map<std::string, std::string>& markers, JobStatus& status) {
  auto* resources = status.mutable_controlled_resources();
  for (int i = resources->size() - 1; i >= 0; --i) {
    const std::string& key = resources->Get(i).key();
    if (key.starts_with(kMarkerPrefix) && !markers.contains(key)) resources->DeleteSubrange(i, 1);
  }
  for (const auto& [key, value] : markers) SetResource(status, key, value);
}

}  // namespace basalt::jobsvc
