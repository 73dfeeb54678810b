#pragma once

// The Events of the jobs of one controller (job spec 9.11), and their series in the records of the jobs. Events are
// best effort: a lost one changes nothing. Runs on the controller's loop.
#include "common/runtime/events/event_recorder.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class JobEvents {
 public:
  // `host` outlives the object.
  explicit JobEvents(PartHost& host);

  // Records the pending Events of the job.
  void Record(JobEntry& entry);

 private:
  runtime::EventRecorder recorder_;
};

// Copy the series of Events from the job's record, and into it.
void LoadEvents(JobEntry& entry);
void StoreEvents(JobEntry& entry);

}  // namespace basalt::jobsvc
