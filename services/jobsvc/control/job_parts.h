#pragma once

// What is under way of one job, in parts. Each is lost with the process on purpose, belongs to one concern of its
// controller and is reset by assigning a fresh one: nothing of an earlier job of the same name stays. On the loop of
// the controller.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/history/entries.h"
#include "common/reconcile/retry.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/explain/problems.h"

namespace basalt::jobsvc {

// The status write that records a decision (commit_outcome.cc, act.cc).
struct StatusCommit {
  bool in_flight = false;
  bool unsent = false;           // Recorded in this round: Act sends it.
  int64_t conflict_version = 0;  // A 409: nothing is decided on a state that is not newer.
  Retry retry;
  std::optional<absl::Time> differs_since;  // Counts alone.
  std::vector<PendingEvent> events;         // To be recorded once the write is acknowledged.
  std::vector<PodIndex> again;              // Decision::again of it.
  StatusMessage problem;                    // What the API server refuses of it.
};

// Creating, marking and deleting pods singly (act_pods.cc).
struct PodWrites {
  std::set<std::string> busy;                    // Names with a write under way.
  std::map<std::string, absl::Time> held_until;  // Names not to be written before.
  Retry create_retry;
  // Tasks of which a pod was refused, and none was made since: the longest untried first.
  std::vector<int32_t> refused_tasks;
  Retry probe_retry;        // Of those.
  Retry kill_retry;         // Marking and deleting.
  std::string kills_after;  // The pod at which that got to while some are refused.
  std::string held_name;    // A pod's name that somebody else was seen to hold, and that is a problem.
};

// The pods of a kill, deleted in one call: it was done, or is not to be done, and pods go singly.
struct BulkDelete {
  std::pair<int32_t, bool> of_kill = {-1, false};  // Its version, and whether nothing live stays.
  bool over = false;
  int empty_answers = 0;
  absl::Time unseen_until = absl::InfinitePast();  // What it has left is not looked at before.
};

// The job's pod group (act_group.cc).
struct GroupSync {
  // JobController::GroupOf; forgotten when anything changes that it follows from.
  mutable std::optional<GroupView> view;
  bool compared = false;          // The group was, since it or the spec changed:
  bool agrees = false;            // it has what the spec wants of it,
  uint64_t agrees_since = 0;      // with as much done as then (PodSet::done_changes).
  uint64_t call = 0;              // Under way to pgsvc; 0: none.
  std::set<std::string> deleted;  // UIDs whose deletion was answered.
  Retry retry;

  // After a change of the group, the job's status or the spec.
  void Forget() {
    view.reset();
    compared = false;
  }
};

// Objects of plugins, and claims (act_objects.cc, act_claims.cc).
struct PluginObjects {
  std::map<std::string, std::string> made;  // As ControlledState::objects, plus what this process has made since.
  std::set<std::string> claims;             // Known to exist.
  bool loaded = false;
  std::set<std::string> busy;
  std::set<std::string> awaited_claims;  // Missing, and in ClaimWaits.
  Retry retry;
};

// Deleting commands that are carried out.
struct CommandCleanup {
  std::set<std::string> deleted;  // UIDs.
  Retry retry;
};

// Deleting the job after its time to live.
struct TtlDeletion {
  bool in_flight = false;
  bool asked = false;  // And not refused: what becomes of it may not be known.
  Retry retry;
};

// Giving the job to another cluster, as its queue says.
struct Forwarding {
  bool in_flight = false;
  Retry retry;
};

// What the scheduler was last quoted with in an Event, and when.
struct QuotedScheduling {
  std::string text;
  absl::Time at = absl::InfinitePast();
};

struct JobParts {
  StatusCommit commit;
  PodWrites pod_writes;
  BulkDelete bulk_delete;
  GroupSync group_sync;
  PluginObjects plugin_objects;
  CommandCleanup command_cleanup;
  TtlDeletion ttl;
  Forwarding forwarding;
  QuotedScheduling quoted;
  Problems problems;                         // What Kubernetes or a plugin refuses; over as soon as it succeeds.
  std::vector<PendingEvent> pending_events;  // To be recorded.
  // UIDs of pods whose events the kill of the status answers: the next write names them.
  std::vector<std::string> unreported_answered;
  history::EntryCount history_count;
};

}  // namespace basalt::jobsvc
