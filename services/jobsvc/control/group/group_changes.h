#pragma once

// How a job takes in the observed state of its PodGroup: the event Unknown (job spec 3.4), the scheduler's message in
// an Event (9.11), and the groups in the job's record. The last quoted message is lost with the process on purpose.
// Runs on the controller's loop.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/events/events.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class GroupChanges {
 public:
  // Does nothing unless entry.groups_dirty is set.
  void Apply(JobEntry& entry, PartHost& host, std::vector<JobEvent>& events);

 private:
  // Puts the scheduler's message into an Event, unless it was quoted lately: a scheduler repeats its message in each
  // round.
  void Quote(JobEntry& entry, const kube::v1::PodGroup& group, PartHost& host);

  std::string quoted_;                           // The scheduler's message in the last Event.
  absl::Time quoted_at_ = absl::InfinitePast();  // The time of that Event.
};

}  // namespace basalt::jobsvc
