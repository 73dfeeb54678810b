#pragma once

// The working set of one job: its stored state, its last observed state, and the writes under way. Owned by one
// JobController; lives on its loop.
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
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/decide/kill.h"
#include "services/jobsvc/core/events/deadlines.h"
#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/spec/compiled_job.h"

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
  PodSet pods;                   // Stored as one PodRecord each.
  DeadlineSet deadlines;         // Stored unless they follow from the pods.
  PodRecords pod_records;        // Knows which records of present and gone pods are in the store.
  runtime::ObjectEvents events;  // The Events about the job. A pass copies their series into the record.

  // ---- observed ----
  // The newest state, without the spec once that is compiled. Nullopt if the job is not there (any more).
  std::optional<kube::v1::Job> job;
  bool job_dirty = false;  // A state or the end of the job was received since the last pass.
  PodChanges pod_changes;
  std::map<std::string, kube::v1::PodGroup> groups;  // The groups that this job owns, by name.
  bool groups_dirty = false;
  std::map<std::string, kube::v1::Command> commands;  // By name.

  // ---- derived ----
  ControlledState persisted;  // Read from job->status.
  std::optional<CompiledSpec> compiled;
  int64_t compiled_generation = -1;
  std::string compiled_uid;
  std::string compiled_decode_error;
  bool deadlines_derived = false;
  bool stale_priorities = false;  // A PriorityClass that the job names has changed since the spec was compiled.

  runtime::Shown shown;  // The state that was last published to watching clients; stored.

  bool has_uid(std::string_view uid) const { return record.uid() == uid; }
  // True if the job is stored, and neither a state nor its end was received: absence from a snapshot is not deletion.
  bool IsUncertain() const { return !job && stored && !record.gone() && !job_dirty; }
  // Takes in the newest state of the job.
  void Receive(kube::v1::Job&& received);
  // Resets all parts: the entry is about another job from here on.
  void ResetParts() { static_cast<JobParts&>(*this) = JobParts(); }
};

}  // namespace basalt::jobsvc
