#pragma once

// One pod as its controller last recorded it, and what becomes of it under the rules that the status of its job
// implies: as what it counts (job spec 9.6, W6), and whether it is to be marked out-of-sync (9.5; surplus ones, too:
// W4) or to be deleted. Pure.
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
  kPodForeign = 8,         // Holds the name, but is not this job's pod. Never counted, never touched.
  kPodEvictionSeen = 16,   // Its end has raised PodEvicted already.
  kPodLabelled = 32,       // Carries the label that names this job by UID, by which a whole run is deleted.
  kPodFailedSurplus = 64,  // Failed while it was surplus, and nobody was told: it goes although its index is back.
  kPodAnswered = 128,      // A policy has answered one of its events.
  kPodOrphan = 256,        // Foreign, and no controller owns it: it does not go by itself.
};

struct PodEntry {
  std::string uid;  // Empty: no pod.
  int64_t resource_version = 0;
  int64_t seen_ms = 0;  // When a process before this one recorded the state; 0: this one has seen it.
  int32_t version = 0;
  int32_t restarts = 0;
  int32_t exit_code = 0;
  uint8_t phase = 0;  // kube.v1.PodPhase.
  uint16_t flags = 0;
  // The pod of this index succeeded and was deleted afterwards by somebody else: the work is done, it counts as
  // succeeded and is not made again (W19).
  bool succeeded_gone = false;

  bool present() const { return !uid.empty(); }
  bool empty() const { return !present() && !succeeded_gone; }
  bool has(PodFlag flag) const { return (flags & flag) != 0; }
  bool terminal() const { return phase == kube::v1::POD_PHASE_SUCCEEDED || phase == kube::v1::POD_PHASE_FAILED; }
};

// Where a pod is: at an index of a task, or among the others (surplus after scaling down, foreign, of an odd name).
// Task -1: of none that the spec has. Such a pod is left alone and counts for nothing until a kill takes it
// (9.1, 9.5, 9.6).
struct PodIndex {
  int32_t task = -1;
  int32_t index = -1;
  friend auto operator<=>(const PodIndex&, const PodIndex&) = default;
  bool indexed() const { return index >= 0; }
};

// What decides about the fate of a pod; follows from the job's status alone.
struct PodRules {
  int32_t version = 0;                // Live pods of an older one are deleted, and count as terminating until gone.
  int32_t delete_terminal_below = 0;  // Finished pods older than this are deleted too: their kill retained nothing.
  int32_t delete_failed_below = 0;    // Failed pods older than this are deleted too: a resume makes them anew.
  bool kill_all = false;              // Draining, aborted and finished phases: no live pod stays.
  std::set<std::string> targets;      // UIDs named by a targeted kill.
  friend bool operator==(const PodRules&, const PodRules&) = default;
};

// Done without a pod, unless a later kill retained nothing.
bool IsDone(const PodEntry& entry, const PodRules& rules);
// Marked before it goes: a target, surplus, or what failed while it was surplus.
bool MustMark(PodIndex place, const PodEntry& entry, const PodRules& rules);
bool MustDelete(const PodEntry& entry, const PodRules& rules);
// It is going, whether it has a deletionTimestamp yet or not.
bool CountsAsTerminating(PodIndex place, const PodEntry& entry, const PodRules& rules);
// Adds it to what it counts as, or takes it away: `sign` is 1 or -1.
void CountPod(PodIndex place, const PodEntry& entry, const PodRules& rules, int32_t sign, kube::v1::PodCounts& counts,
              std::vector<TaskCounts>& tasks);

}  // namespace basalt::jobsvc
