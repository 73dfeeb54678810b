#pragma once

// The work that is left until the world matches a job's acknowledged status. It is derived again in every pass, never
// stored, and bounded in size (design rule 3). Pure.
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
  // The group belongs to an older version, or the kill under way names it. It has to go first.
  bool stale = false;
  bool terminating = false;
  // Only the creation of pods waits for the scheduler to admit the group; counting never does (W16).
  bool admits() const { return present && !stale && !phase.empty() && phase != "Pending"; }
};

// A queue that a job names.
struct QueueView {
  const kube::v1::Queue* queue = nullptr;  // Null if the queue does not exist.
  bool has_children = false;               // Another queue names it as its parent.
};

// Returns whether the queue may be the reason why a job of that phase does not go on.
bool WaitsForQueue(kube::v1::JobPhase phase, const GroupView& group);

struct EffectInput {
  const kube::v1::Job& job;
  const kube::v1::JobSpec& spec;  // Effective.
  const PodSet& pods;
  GroupView group;
  bool blocked = false;  // The spec is refused or creates back off: nothing is made.
  // An action is not committed yet and may call for other pods than the present status does (W11): nothing is made.
  bool action_waits = false;
  bool objects_ready = false;  // Every plugin object exists.
  // Names of pods with a write in flight, or with an observed state that no decision has considered yet.
  const std::set<std::string>& busy;
  // One call is deleting many pods: no pod is made while it does.
  bool collecting = false;
  // Like `collecting`, or the watch has not shown yet what that call deleted: no pod is deleted singly.
  bool deletes_held = false;
  // Tasks whose pods are refused: at most one pod is made for each, as a probe, behind the pods of other tasks.
  std::vector<int32_t> refused_tasks;
  // The probes may be made now.
  bool probes = false;
  bool kills_blocked = false;  // Marks and deletions back off.
  // Name of a pod. Marks and deletions continue behind it and wrap around, so that refused ones do not hold up the
  // others.
  std::string kills_after;
  size_t limit = 64;
};

// Pods that one call deletes (design rule 4).
struct PodCollection {
  std::string label_selector;
  std::string field_selector;  // Empty if pods of every phase are deleted.
  size_t pods = 0;             // Number of pods to be deleted that the selectors match.
};

// Returns the deletion that a full kill calls for. Nullopt if pods are deleted singly: fewer than two would match, or
// the selector would match another owner's pod. Walks over the pods to be deleted.
std::optional<PodCollection> NextPodCollection(const EffectInput& input);

struct PodEffect {
  enum class Kind { kMark, kDelete, kCreate } kind;
  std::string name;
  PodIndex place;
  std::string uid;
  int64_t resource_version = 0;
};

// Returns marks before the deletions of marked pods, and both before a pod is made again under such a name.
std::vector<PodEffect> NextPodEffects(const EffectInput& input);

// Returns whether pods of this task may be made (job spec 9.7). `why_not` gets the dependency that the task waits for,
// or why the task can never start.
bool DependencyMet(const kube::v1::JobSpec& spec, int32_t task, const PodSet& pods, std::string* why_not = nullptr);

// Returns why tasks with missing pods can never start: one sentence per task without a full stop, joined by "; ". Empty
// if there is no such task. Ends with "; …" if there are more tasks than fit into a message.
std::string WhyNeverStarted(const kube::v1::JobSpec& spec, const PodSet& pods);

// Returns whether the group is not the one that pods of the present version may join.
bool IsStaleGroup(const kube::v1::PodGroup& group, const kube::v1::JobStatus& status, const ControlledState& persisted);

// The cause of a delay of effects, for people.
struct Wait {
  job::v1::Cause::Kind kind = job::v1::Cause::KIND_UNSPECIFIED;
  std::string subject;  // As Cause.subject.
  std::string message;  // One sentence.
};
// Returns the causes in the order in which effects meet them.
std::vector<Wait> WaitsOf(const EffectInput& input);
// Returns why the queue admits nothing new (job spec 2.3, C16). Empty if nothing prevents it.
std::string QueueProblem(std::string_view name, const QueueView& view);
// Returns the first cause in one sentence, or the queue's problem if that is why the group waits. Empty if the job
// waits for nothing.
std::string WaitingFor(const EffectInput& input, const QueueView& queue);

}  // namespace basalt::jobsvc
