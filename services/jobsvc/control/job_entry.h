#pragma once

// The working set of one job: what is stored of it, what was last observed, and which writes are under way. Owned by
// one JobController; lives on its loop.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/runtime/events/object_events.h"
#include "common/runtime/watch/publisher.h"
#include "services/jobsvc/control/job_parts.h"
#include "services/jobsvc/control/pods/pod_changes.h"
#include "services/jobsvc/control/pods/pod_records.h"
#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/deadlines.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/events.h"
#include "services/jobsvc/core/kill.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

struct JobEntry : JobParts {
  std::string key;  // namespace/name.
  std::string ns;
  std::string name;
  uint32_t slot = 0;

  // ---- stored ----
  storage::v1::JobRecord record;
  bool stored = false;  // A record of this job is in the store.
  bool record_dirty = false;
  PodSet pods;                   // Beside it, one PodRecord per pod,
  DeadlineSet deadlines;         // and one for each of these that is kept; others are derived from the pods.
  PodRecords pod_records;        // What of these and of pods that are gone is in the store.
  runtime::ObjectEvents events;  // About the job; a pass puts their series into the record.

  // ---- observed ----
  std::optional<kube::v1::Job> job;  // Newest, without its spec once compiled; none: it is not there (any more).
  bool job_dirty = false;            // Received, or told to be gone, since the last pass.
  PodChanges pod_changes;
  std::map<std::string, kube::v1::PodGroup> groups;  // By name; those that this job owns.
  bool groups_dirty = false;
  std::map<std::string, kube::v1::Command> commands;  // By name.

  // ---- derived ----
  ControlledState persisted;  // Of job->status.
  std::optional<CompiledSpec> compiled;
  int64_t compiled_generation = -1;
  std::string compiled_uid;
  std::string compiled_decode_error;
  bool deadlines_derived = false;
  bool stale_priorities = false;  // A PriorityClass that it names changed since.

  runtime::Shown shown;  // Of what people see; stored.

  bool has_uid(std::string_view uid) const { return record.uid() == uid; }
  // A snapshot has left the job out, and nobody has said that it is gone: absence is not deletion.
  bool IsUncertain() const { return !job && stored && !record.gone() && !job_dirty; }
  // The newest state of the job.
  void Receive(kube::v1::Job&& received);
  // It is about another job from here on.
  void ResetParts() { static_cast<JobParts&>(*this) = JobParts(); }
};

}  // namespace basalt::jobsvc
