#pragma once

// The queues of the cluster as the jobs of one worker see them: which there are, which have others below them, since
// when a queue is in its state, and which jobs name it, so that a change of a queue costs what its own jobs cost. Pure;
// confined to the worker's loop.
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
  // So many queues that are gone have the time of that remembered; the longest gone are forgotten first.
  static constexpr size_t kMostGone = 1024;

  // A state of a queue, or the last one of a queue that is gone. Returns the keys of the jobs for which that may change
  // whether and why they wait.
  std::vector<std::string> Receive(const kube::v1::Queue& queue, bool gone, int64_t now_ms);
  // The job names `after` now and named `before`; an empty name is no queue.
  void MoveJob(const std::string& job, const std::string& before, const std::string& after);

  // By name. While a slot is ready all of them; none where their kind is not served.
  const Queues& all() const { return queues_; }
  QueueView Find(std::string_view name) const;
  // Another queue names it as its parent.
  bool HasChildren(std::string_view name) const { return children_.contains(name); }
  // When it was seen to change its state, to come or to go, in ms; 0: it is as it was found.
  int64_t SinceMs(std::string_view name) const;
  size_t remembered() const { return since_ms_.size(); }

 private:
  void Remember(const std::string& name, bool gone, int64_t now_ms);
  void AddJobsOf(const std::string& queue, std::vector<std::string>& jobs) const;
  void FollowParent(const std::string& before, const std::string& after, std::vector<std::string>& jobs);

  Queues queues_;
  std::map<std::string, int32_t, std::less<>> children_;            // How many queues are below a queue; never 0.
  std::map<std::string, std::set<std::string>, std::less<>> jobs_;  // Keys, by the queue that they name; never empty.
  std::map<std::string, int64_t, std::less<>> since_ms_;            // Of the queues that were seen to change.
  std::deque<std::string> gone_;                                    // Of those the ones that are gone, as they went.
};

}  // namespace basalt::jobsvc
