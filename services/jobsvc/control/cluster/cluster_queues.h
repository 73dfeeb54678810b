#pragma once

// The queues of the cluster as one worker knows them: which exist, which have others below them, since when a queue is
// in its state, and which jobs name it. A change of a queue costs only as much as its own jobs. Pure; confined to the
// worker's loop.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

class ClusterQueues {
 public:
  using Queues = std::map<std::string, kube::v1::Queue, std::less<>>;
  // The limit of gone queues whose time of going is remembered. Those that went first are forgotten first.
  static constexpr size_t kMostGone = 1024;

  // Takes in a state of a queue, or the last one of a queue that is gone. Returns the keys of the jobs that may start
  // or stop waiting by that, or wait for another reason.
  std::vector<std::string> Receive(const kube::v1::Queue& queue, bool gone, int64_t now_ms);
  // The job names `after` now and named `before`; an empty name is no queue.
  void MoveJob(const std::string& job, const std::string& before, const std::string& after);

  // The queues by name. All of them while a slot is ready; none if the cluster does not serve their kind.
  const Queues& all() const { return queues_; }
  QueueView Find(std::string_view name) const;
  // True if another queue names it as its parent.
  bool HasChildren(std::string_view name) const { return children_.contains(name); }
  // When the queue was observed to change its state, to come or to go, in ms; 0 if the queue is as it was found.
  int64_t SinceMs(std::string_view name) const;
  size_t remembered() const { return since_ms_.size(); }

 private:
  void Remember(const std::string& name, bool gone, int64_t now_ms);
  void AddJobsOf(const std::string& queue, std::vector<std::string>& jobs) const;
  void FollowParent(const std::string& before, const std::string& after, std::vector<std::string>& jobs);

  Queues queues_;
  std::map<std::string, int32_t, std::less<>> children_;  // Number of queues directly below a queue; never 0.
  // Keys of jobs, by the queue that they name; no set is empty.
  std::map<std::string, std::set<std::string>, std::less<>> jobs_;
  std::map<std::string, int64_t, std::less<>> since_ms_;  // Times of change, by queue.
  std::deque<std::string> gone_;  // The queues in `since_ms_` that are gone, in the order in which they went.
};

}  // namespace basalt::jobsvc
