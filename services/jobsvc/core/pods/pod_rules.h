#pragma once

// One pod as its controller last recorded it, and the consequences of the rules that the status of its job implies: how
// the pod counts (job spec 9.6, W6), whether it is to be marked out-of-sync (9.5; W4: surplus pods, too), and whether
// it is to be deleted. Pure.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

// Bits of PodEntry::flags. The values are stored: never renumber.
enum PodFlag : uint16_t {
  kPodTerminating = 1,     // Has a deletionTimestamp.
  kPodOutOfSync = 2,       // Carries the out-of-sync mark.
  kPodReady = 4,           // Every container is ready.
  kPodForeign = 8,         // Has the name of a pod of this job, but is another's. Never counted, never touched.
  kPodEvictionSeen = 16,   // The end of the pod has raised PodEvicted already.
  kPodLabelled = 32,       // Carries the label with this job's UID, by which a whole run is deleted.
  kPodFailedSurplus = 64,  // Failed while it was surplus and raised no event: it is deleted although its index is back.
  kPodAnswered = 128,      // A policy has answered one of its events.
  kPodOrphan = 256,        // Foreign and without a controller: nobody will delete it.
};

struct PodEntry {
  std::string uid;  // Empty if there is no pod.
  int64_t resource_version = 0;
  int64_t seen_ms = 0;  // When an earlier process recorded the state. 0 if this process observed it.
  int32_t version = 0;
  int32_t restarts = 0;
  int32_t exit_code = 0;
  uint8_t phase = 0;  // kube.v1.PodPhase.
  uint16_t flags = 0;
  // The pod of this index succeeded and somebody else deleted it afterwards. The work is done: the index counts as
  // succeeded and no pod is made again (W19).
  bool succeeded_gone = false;

  bool present() const { return !uid.empty(); }
  bool empty() const { return !present() && !succeeded_gone; }
  bool has(PodFlag flag) const { return (flags & flag) != 0; }
  bool terminal() const { return phase == kube::v1::POD_PHASE_SUCCEEDED || phase == kube::v1::POD_PHASE_FAILED; }
};

// The place of a pod: an index of a task, or -1 among the others (surplus after scaling down, foreign, of an odd name).
// Task -1 means a task that the spec does not have: such a pod is left alone and counts for nothing until a kill takes
// it (9.1, 9.5, 9.6).
struct PodIndex {
  int32_t task = -1;
  int32_t index = -1;
  friend auto operator<=>(const PodIndex&, const PodIndex&) = default;
  bool indexed() const { return index >= 0; }
};

// The rules that decide about the fate of a pod. They follow from the job's status alone.
struct PodRules {
  // Live pods of a version below this are deleted, and count as terminating until they are gone.
  int32_t version = 0;
  // Finished pods of a version below this are deleted, too: their kill retained nothing.
  int32_t delete_terminal_below = 0;
  // Failed pods of a version below this are deleted, too: a resume makes them anew.
  int32_t delete_failed_below = 0;
  bool kill_all = false;          // No live pod stays. True in draining, aborted and finished phases.
  std::set<std::string> targets;  // UIDs that a targeted kill names.
  friend bool operator==(const PodRules&, const PodRules&) = default;
};

// Returns whether the index is done without a pod. A later kill that retains nothing ends that.
bool IsDone(const PodEntry& entry, const PodRules& rules);
// Returns whether the pod is to be marked before its deletion: a target, a surplus pod, or one that failed while
// surplus.
bool MustMark(PodIndex place, const PodEntry& entry, const PodRules& rules);
bool MustDelete(const PodEntry& entry, const PodRules& rules);
// Returns whether the pod is going, with or without a deletionTimestamp.
bool CountsAsTerminating(PodIndex place, const PodEntry& entry, const PodRules& rules);
// Adds the pod to the counts (`sign` 1) or takes it away (`sign` -1).
void CountPod(PodIndex place, const PodEntry& entry, const PodRules& rules, int32_t sign, kube::v1::PodCounts& counts,
              std::vector<TaskCounts>& tasks);

}  // namespace basalt::jobsvc
