#include "services/jobsvc/control/cluster/cluster_queues.h"

#include <algorithm>

namespace basalt::jobsvc {

std::vector<std::string> ClusterQueues::Receive(const kube::v1::Queue& queue, bool gone, int64_t now_ms) {
  const std::string& name = queue.meta().name();
  const auto known = queues_.find(name);
  // An unknown queue is new, or is received for the first time.
  const bool is_known = known != queues_.end();
  const bool changes = is_known ? gone || known->second.state() != queue.state() : since_ms_.contains(name);
  if (changes) Remember(name, gone, now_ms);
  const std::string old_parent = is_known ? known->second.parent() : "";
  // Before the first queue comes, no queue can be called missing.
  const bool is_first = queues_.empty();
  if (gone) {
    queues_.erase(name);
  } else {
    queues_[name] = queue;
  }
  std::vector<std::string> jobs;
  if (is_first) {
    for (const auto& [other, keys] : jobs_) AddJobsOf(other, jobs);
  } else if (changes || !is_known) {
    AddJobsOf(name, jobs);
  }
  FollowParent(old_parent, gone ? "" : queue.parent(), jobs);
  return jobs;
}

void ClusterQueues::Remember(const std::string& name, bool gone, int64_t now_ms) {
  since_ms_[name] = now_ms;
  std::erase(gone_, name);
  if (!gone) return;
  gone_.push_back(name);
  if (gone_.size() <= kMostGone) return;
  since_ms_.erase(gone_.front());
  gone_.pop_front();
}

void ClusterQueues::AddJobsOf(const std::string& queue, std::vector<std::string>& jobs) const {
  const auto found = jobs_.find(queue);
  if (found != jobs_.end()) jobs.insert(jobs.end(), found->second.begin(), found->second.end());
}

void ClusterQueues::FollowParent(const std::string& before, const std::string& after, std::vector<std::string>& jobs) {
  if (before == after) return;
  if (!before.empty() && --children_[before] == 0) {
    children_.erase(before);
    AddJobsOf(before, jobs);
  }
  if (!after.empty() && ++children_[after] == 1) AddJobsOf(after, jobs);
}

void ClusterQueues::MoveJob(const std::string& job, const std::string& before, const std::string& after) {
  if (before == after) return;
  if (const auto found = jobs_.find(before); found != jobs_.end()) {
    found->second.erase(job);
    if (found->second.empty()) jobs_.erase(found);
  }
  if (!after.empty()) jobs_[after].insert(job);
}

QueueView ClusterQueues::Find(std::string_view name) const {
  const auto it = queues_.find(name);
  if (it == queues_.end()) return {};
  return {.queue = &it->second, .has_children = HasChildren(name)};
}

int64_t ClusterQueues::SinceMs(std::string_view name) const {
  const auto it = since_ms_.find(name);
  return it == since_ms_.end() ? 0 : it->second;
}

}  // namespace basalt::jobsvc
