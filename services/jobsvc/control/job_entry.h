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
#include "common/reconcile/retry.h"
#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/deadlines.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/events.h"
#include "services/jobsvc/core/explain/problems.h"
#include "services/jobsvc/core/kill.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

// A state or an end of a pod that no pass has judged yet. Kept per name in the order of observation; states of one UID
// are merged, the newest wins.
struct DirtyPod {
  std::optional<kube::v1::Pod> state;  // Newest (of an end: the last seen, if it came along).
  GoneReason gone = GoneReason::kNotGone;
  std::string uid;
};

struct JobEntry {
  std::string key;  // namespace/name.
  std::string ns;
  std::string name;
  uint32_t slot = 0;

  // ---- stored ----
  storage::v1::JobRecord record;
  bool stored = false;  // A record of this job is in the store.
  bool record_dirty = false;
  PodSet pods;            // Beside it, one PodRecord per pod,
  DeadlineSet deadlines;  // and one for each of these that is kept; others are derived from the pods.
  // Pods that succeeded and are gone, of which the status does not tell yet: their records stay until it does, since
  // whoever starts on this disk learns from nothing else that their work is done (W19).
  std::set<std::string> unreported_done;
  // UIDs of pods that are gone and of which a policy has answered an event -> their version; each has an EndedPod.
  std::map<std::string, int32_t, std::less<>> ended_pods;

  // ---- observed ----
  std::optional<kube::v1::Job> job;  // Newest, without its spec once compiled; none: it is not there (any more).
  bool job_dirty = false;            // Received, or told to be gone, since the last pass.
  std::map<std::string, std::vector<DirtyPod>> dirty_pods;
  std::map<std::string, kube::v1::PodGroup> groups;  // By name; those that this job owns.
  bool groups_dirty = false;
  std::map<std::string, kube::v1::Command> commands;  // By name.

  // ---- derived ----
  ControlledState persisted;  // Of job->status.
  // JobController::GroupOf; forgotten when anything changes that it follows from.
  mutable std::optional<GroupView> group_view;
  bool group_compared = false;      // The group was, since it or the spec changed:
  bool group_agrees = false;        // it has what the spec wants of it,
  uint64_t group_agrees_since = 0;  // with as much done as then (PodSet::done_changes).
  std::optional<CompiledSpec> compiled;
  int64_t compiled_generation = -1;
  std::string compiled_uid;
  std::string compiled_decode_error;
  bool deadlines_derived = false;
  bool stale_priorities = false;               // A PriorityClass changed since.
  std::unique_ptr<PodMaker> maker;             // While pods are being made.
  std::map<std::string, std::string> objects;  // As ControlledState::objects, plus what this process has made since.
  std::set<std::string> claims;                // Known to exist.
  bool objects_loaded = false;

  // ---- under way; lost with the process, on purpose ----
  // UIDs of pods whose events the kill of the status answers: the next write names them.
  std::vector<std::string> unreported_answered;
  bool commit_in_flight = false;
  bool intent_unsent = false;    // Recorded in this round: Act sends it.
  int64_t conflict_version = 0;  // A 409: nothing is decided on a state that is not newer.
  Retry commit_retry;
  std::optional<absl::Time> differs_since;
  std::set<std::string> busy_pods;               // Names with a write under way.
  std::map<std::string, absl::Time> held_until;  // Names not to be written before.
  // Of a kill (its version, and whether nothing live stays) in one call: it was done, or is not to be done, and pods go
  // singly; what it has left is not looked at before.
  std::pair<int32_t, bool> bulk_delete_for = {-1, false};
  bool collected = false;
  int empty_bulk_deletes = 0;
  absl::Time bulk_delete_until = absl::InfinitePast();
  std::set<std::string> busy_objects;
  std::set<std::string> awaited_claims;  // Missing, and in ClaimWaits.
  std::string reported_held_name;        // The name of a pod, seen to be held by somebody else, that is a problem.
  Retry create_retry;
  // Tasks of which a pod was refused, and none was made since: the longest untried first.
  std::vector<int32_t> refused_tasks;
  Retry probe_retry;        // Of those.
  Retry kill_retry;         // Marking and deleting pods.
  std::string kills_after;  // The pod at which that got to while some are refused.
  Retry object_retry;
  Retry command_retry;  // Deleting those that are carried out.
  Retry group_retry;
  bool forwarding_in_flight = false;
  Retry forwarding_retry;
  bool ensure_in_flight = false;
  std::set<std::string> deleted_groups;  // UIDs with a deletion sent.
  std::set<std::string> deleted_commands;
  bool ttl_in_flight = false;
  bool ttl_asked = false;  // And not refused: what becomes of it may not be known.
  Retry ttl_retry;
  Problems problems;                // What Kubernetes or a plugin refuses; over as soon as it succeeds.
  StatusMessage status_problem;     // The same of the status write that is meant.
  std::string reported_scheduling;  // What the scheduler was last quoted with,
  absl::Time reported_scheduling_at = absl::InfinitePast();  // and when.
  std::vector<PendingEvent> pending_events;                  // Events to be recorded.
  std::vector<PendingEvent> commit_events;                   // The same, once the commit under way is acknowledged.
  std::vector<PodIndex> commit_again;                        // Decision::again of it.
  int64_t history_count = -1;                                // -1: not counted yet.
  // Of what people see; stored.
  uint64_t shown = 0;
  int64_t shown_revision = 0;  // 0: nobody was told of it yet.

  bool has_uid(std::string_view uid) const { return record.uid() == uid; }
  // After a change of the group, the job's status or the spec.
  // Pods can be made again, as far as it was tried: but not under a name that is seen to be held.
  void EndFailedCreate() {
    if (reported_held_name.empty()) {
      problems.End("FailedCreate");
    } else {
      problems.End("FailedCreate", "");
    }
  }
  void ForgetGroup() {
    group_view.reset();
    group_compared = false;
  }
};

}  // namespace basalt::jobsvc
