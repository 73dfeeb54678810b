#pragma once

// The pods that a kill deletes (job spec 9.4; W32: only those that the action names) and the indices that are done
// again with them; the rules under which pods go (9.5) and count meanwhile (9.6, W6); the end of a kill. Pure.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// The most pods that one targeted kill names: the whole status has to fit into what the API server stores.
inline constexpr size_t kMostTargets = 20'000;

// The pods and indices that a targeted action is about.
struct Targets {
  std::set<std::string> pods;  // UIDs.
  // Indices that are done although their pods are gone, and that are to be done again with the others.
  std::vector<PodIndex> again;
  bool empty() const { return pods.empty() && again.empty(); }
};
Targets TargetsOf(Action action, const storage::v1::PendingAction& pending, const PodSet& pods);
// Returns whether such a target can exist: a task without partitions has none to restart.
bool NamesTarget(Action action, const storage::v1::PendingAction& pending, const PodSet& pods);

// Returns the kill of the action, without targets and without a group.
Kill KillOf(const storage::v1::PendingAction& pending, int32_t version);
// Merges the unfinished part of the kill before into `kill`, since the status describes one kill at a time. Returns
// false if both together name too many pods.
bool TakeOver(const Kill& before, const PodSet& pods, Kill& kill);
// Returns whether there are pods and all of them are among the targets.
bool Takes(const std::set<std::string>& targets, const std::set<std::string>& pods);

// Returns a text that is the same for restarts of the same task or partition, whichever pod's event caused them. Empty
// if the action is not such a restart.
std::string AskedBy(const storage::v1::PendingAction& pending);
// Adds the UID of a pod whose event an action answers, the newest last. Does nothing if the UID is empty or there
// already.
void AddAnswered(const std::string& uid, std::vector<std::string>& answered);

// Takes these places, which are to be done again, out of the counts.
void Redo(const std::vector<PodIndex>& places, kube::v1::PodCounts& counts, std::vector<TaskCounts>& tasks);

// Returns the rules for the job's pods that its status implies.
PodRules RulesOf(const kube::v1::JobStatus& status, const ControlledState& persisted);

// Returns whether nothing of the kill is left to be done.
bool IsOver(const Kill& kill, const PodSet& pods, std::string_view group_uid);

}  // namespace basalt::jobsvc
