#pragma once

// What a job makes of its PodGroup as it was observed: the event Unknown (job spec 3.4), what the scheduler says in an
// Event (9.11), and what the job's record keeps of the groups. What was quoted is lost with the process on purpose. On
// the controller's loop.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/events.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class GroupChanges {
 public:
  // Nothing happens unless entry.groups_dirty says that there are some.
  void Apply(JobEntry& entry, PartHost& host, std::vector<JobEvent>& events);

 private:
  // A scheduler says the same in each of its rounds.
  void Quote(JobEntry& entry, const kube::v1::PodGroup& group, PartHost& host);

  std::string quoted_;  // The scheduler's words of which the last Event told, and when it did.
  absl::Time quoted_at_ = absl::InfinitePast();
};

}  // namespace basalt::jobsvc
