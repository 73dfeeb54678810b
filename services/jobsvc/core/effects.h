#pragma once

// What is left to be done so that the world matches a job's acknowledged status: re-derived in every pass, never
// stored, in bounded chunks (design rule 3). Pure.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

// The job's PodGroup as the watch shows it.
struct GroupView {
  bool present = false;
  std::string name;
  std::string uid;
  std::string phase;
  bool stale = false;  // Of an older version, or named in the kill under way: it has to go first.
  bool terminating = false;
  // W16: only the creation of pods waits for the scheduler's admission, counting never does.
  bool admits() const { return present && !stale && !phase.empty() && phase != "Pending"; }
};

// A queue that a job names.
struct QueueView {
  const kube::v1::Queue* queue = nullptr;  // Null: there is none.
  bool has_children = false;               // Another queue names it as its parent.
};

// Its queue may be why a job of that phase does not go on.
bool WaitsForQueue(kube::v1::JobPhase phase, const GroupView& group);

struct EffectInput {
  const kube::v1::Job& job;
  const kube::v1::JobSpec& spec;  // Effective.
  const PodSet& pods;
  GroupView group;
  bool blocked = false;  // The spec is refused, or creating backs off: nothing is made.
  // W11: an action is not committed yet, and may call for other pods than the present status does: nothing is made.
  bool action_waits = false;
  bool objects_ready = false;  // Every plugin object exists.
  // Names of pods with a write under way, or with a state that is not judged yet.
  const std::set<std::string>& busy;
  // Pods are being deleted by name, in one call: nothing is made under one.
  bool collecting = false;
  // The same, or what it has left is not seen yet: no pod is deleted singly.
  bool deletes_held = false;
  // Of these tasks no pod is made but one, to see whether it can be, after those of other tasks, and where it may be
  // now.
  std::vector<int32_t> refused_tasks;
  bool probes = false;
  bool kills_blocked = false;  // Marking and deleting back off.
  std::string kills_after;  // They go on behind this pod, and around: those that are refused do not hold up the others.
  size_t limit = 64;
};

// Pods that are deleted in one call (design rule 4).
struct PodCollection {
  std::string label_selector;
  std::string field_selector;  // Empty: whatever their phase.
  size_t pods = 0;             // So many of those that have to go.
};

// The one that a full kill calls for, where more than one pod goes; nullopt: pods go singly. Walks over those that have
// to go.
std::optional<PodCollection> NextPodCollection(const EffectInput& input);

struct PodEffect {
  enum class Kind { kMark, kDelete, kCreate } kind;
  std::string name;
  PodIndex place;
  std::string uid;
  int64_t resource_version = 0;
};

// Marks come before deletions of what is marked, and both before anything is made again under such a name.
std::vector<PodEffect> NextPodEffects(const EffectInput& input);

// Job spec 9.7: may pods of this task be made? `why_not` names what it waits for, or why it never can.
bool DependencyMet(const kube::v1::JobSpec& spec, int32_t task, const PodSet& pods, std::string* why_not = nullptr);

// Of tasks that can never start, with pods missing: why, each in one sentence without a full stop; joined by "; ".
// Empty: there is none.
std::string WhyNeverStarted(const kube::v1::JobSpec& spec, const PodSet& pods);

// The group is not the one that pods of the present version may join.
bool IsStaleGroup(const kube::v1::PodGroup& group, const kube::v1::JobStatus& status, const ControlledState& persisted);

// What holds up effects, for people.
struct Wait {
  job::v1::Cause::Kind kind = job::v1::Cause::KIND_UNSPECIFIED;
  std::string subject;  // As Cause.subject.
  std::string message;  // One sentence.
};
// In the order in which they are met.
std::vector<Wait> WaitsOf(const EffectInput& input);
// What keeps a queue from admitting anything new (job spec 2.3, C16); empty: nothing.
std::string QueueProblem(std::string_view name, const QueueView& view);
// The first of them in one sentence, with the queue where that is why; empty when the job waits for nothing.
std::string WaitingFor(const EffectInput& input, const QueueView& queue);

}  // namespace basalt::jobsvc
