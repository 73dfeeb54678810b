#pragma once

// What a kill takes: the pods that an action is about (job spec 9.4; W32: no others), and what is done again with them;
// the rules under which pods go (9.5) and count meanwhile (9.6, W6); when nothing of it is left. Pure.
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

// So many pods one targeted kill names at most: with all else that it holds, the status is to fit into what the API
// server stores.
inline constexpr size_t kMostTargets = 20'000;

// What a targeted action is about.
struct Targets {
  std::set<std::string> pods;   // UIDs.
  std::vector<PodIndex> again;  // Done although their pods are gone, and to be done again with the others.
  bool empty() const { return pods.empty() && again.empty(); }
};
Targets TargetsOf(Action action, const storage::v1::PendingAction& pending, const PodSet& pods);
// Whether there can be any such target: a task without partitions has none to restart.
bool NamesTarget(Action action, const storage::v1::PendingAction& pending, const PodSet& pods);

// Of the action, without anything that it takes.
Kill KillOf(const storage::v1::PendingAction& pending, int32_t version);
// One kill is told about at a time: what the one before has not finished is taken over. False: both together name too
// many pods.
bool TakeOver(const Kill& before, const PodSet& pods, Kill& kill);
// All of the pods, of which there are some, are among the targets.
bool Takes(const std::set<std::string>& targets, const std::set<std::string>& pods);

// What a restart of a task or a partition asks for, whichever pod it is about: the same text, the same targets. Empty:
// it asks for nothing that another may ask for.
std::string AskedBy(const storage::v1::PendingAction& pending);
// Adds the UID of a pod whose event asked for an action, if it has one, to those that are answered, the newest last.
void AddAnswered(const std::string& uid, std::vector<std::string>& answered);

// The counts once these places are to be done again.
void Redo(const std::vector<PodIndex>& places, kube::v1::PodCounts& counts, std::vector<TaskCounts>& tasks);

// The rules for the job's pods that its status implies.
PodRules RulesOf(const kube::v1::JobStatus& status, const ControlledState& persisted);

// True when nothing of the kill is left to be done.
bool IsOver(const Kill& kill, const PodSet& pods, std::string_view group_uid);

}  // namespace basalt::jobsvc
