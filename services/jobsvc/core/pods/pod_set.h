#pragma once

// The pods of one job as its controller last recorded them, by index. Everything that a pass needs is kept
// incrementally: counters (job spec 9.6) and the sets of missing, to-be-marked and to-be-deleted pods follow every
// change at a cost that does not depend on the size of the job. Only a change of the rules (a kill, a new phase class)
// or of the shape (scaling) walks over all pods. Missing indices are stored as ranges: they take no memory of their
// own, however many the spec calls for.
//
// Not thread-safe. In memory only: PodRecord is what is stored.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/pods/place_set.h"
#include "services/jobsvc/core/pods/pod_rules.h"
#include "services/jobsvc/core/pods/pod_slots.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

// The parts of the name <job>-<task>-<index>. The index is what follows the last dash, so that the task is unambiguous.
struct ParsedPodName {
  std::string_view task;
  int32_t index = -1;  // -1 if the last part is no index in canonical form.
};
// Nullopt if the name is none of that job's.
std::optional<ParsedPodName> ParsePodName(std::string_view name, std::string_view job);

// The effect of one observation.
struct PodChange {
  std::string name;
  PodIndex place;
  PodEntry before;  // Not present if the pod was not known.
  PodEntry after;   // Not present if the pod is gone.
  TaskCounts task_before;
  TaskCounts task_after;
  bool was_ours_to_delete = false;  // The pod was marked, targeted, superseded or surplus before it went.
};

class PodSet {
 public:
  // Forgets everything.
  void Reset(std::string_view job_name, std::string_view job_uid);
  // Sets the tasks. Pods without an index in the new tasks become surplus, and surplus pods with one regain it. Returns
  // the names of pods whose place changed.
  std::vector<std::string> SetTasks(std::vector<TaskShape> tasks);
  void SetRules(PodRules rules);
  // Sets what the job's status reports of its tasks and of the indices that are done without a pod. SetTasks() forgets
  // it.
  void SetReported(const kube::v1::JobStatus& status, const std::map<std::string, std::set<int32_t>>& done);
  void ForgetReported() { has_reported_ = false; }
  bool has_reported() const { return has_reported_; }
  // Returns whether both reports still equal the present state.
  bool MatchesReported() const { return has_reported_ && facts_.MatchReported() && unreported_done_ == 0; }

  // Applies a newer state of a pod whose routing key is this job's.
  PodChange Apply(const kube::v1::Pod& pod);
  // Removes a pod that is gone. Does nothing if another UID has the name by now.
  PodChange Remove(std::string_view name, std::string_view uid);
  // Undoes Apply and Remove of an older pod of that name. `entry` is HolderOf(name) from before.
  void PutBack(std::string_view name, const PodEntry& entry);
  // Adds a pod from the store, before the shape is known.
  void Restore(std::string_view name, const storage::v1::PodRecord& record);
  void AddFlag(std::string_view name, PodFlag flag);
  void SetSucceededGone(PodIndex place, bool value);

  // Returns the position of the task. -1 if there is no such task.
  int32_t TaskOf(std::string_view name) const;
  // Returns the place that the name means in the present shape.
  PodIndex PlaceOf(std::string_view name) const;
  std::string NameOf(PodIndex place) const;
  // Null if there is no such pod. The pointer is valid until a pod is removed or the tasks are set.
  const PodEntry* Find(std::string_view name) const;
  // Like Find(), but also returns the entry of an index that is done although its pod is gone.
  const PodEntry* HolderOf(std::string_view name) const;

  const kube::v1::PodCounts& counts() const { return counts_; }
  const std::vector<TaskCounts>& task_counts() const { return task_counts_; }
  const std::vector<TaskShape>& tasks() const { return tasks_; }
  const PodRules& rules() const { return rules_; }
  int64_t total() const { return total_; }
  size_t known() const;  // Number of pods present, foreign ones included.
  size_t room() const;   // Number of entries in memory for pods at an index.

  // Indices without a pod whose work is not done, in order.
  const PlaceSet& missing() const { return missing_; }
  // Names of pods to be marked out-of-sync before their deletion (targets, surplus).
  const std::set<std::string>& to_mark() const { return to_mark_; }
  // Names of pods to be deleted.
  const std::set<std::string>& to_delete() const { return to_delete_; }
  bool HasTargetsLeft() const { return targets_left_ > 0; }
  // Returns whether a foreign pod carries the label by which the job's own pods are deleted together.
  bool HasForeignLabelled() const { return foreign_labelled_ > 0; }
  // Names that a foreign pod has.
  const std::set<std::string>& held() const { return held_; }
  // Per task, the indices that are done although their pod is gone.
  const std::vector<std::set<int32_t>>& done() const { return done_; }
  // Facts per task: which tasks are ready, and of which tasks pods may be made.
  const TaskFacts& facts() const { return facts_; }
  // Grows with every change of done(), and with every rebuild.
  uint64_t done_changes() const { return done_changes_; }

  // Returns the counts under other rules. Walks over all pods.
  std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> CountUnder(const PodRules& rules) const;
  // Returns the incremental counters computed from scratch, for tests and self-checks.
  std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> Recount() const { return CountUnder(rules_); }
  // Returns the UIDs of this job's present pods in `task` (all if -1), of one partition if that is >= 0.
  std::set<std::string> Uids(int32_t task, int32_t partition) const;
  // Returns the UIDs of the pods that count as terminating.
  std::set<std::string> Terminating() const;
  // Returns the names of this job's pods of unknown tasks that are not going. Walks over the pods at no index.
  std::vector<std::string> OfNoTask() const;
  template <typename Visit>  // Visit(name, place, entry), in order.
  void ForEach(Visit visit) const {
    for (size_t t = 0; t < slots_.size(); ++t) {
      slots_[t].ForEach([&](int32_t index, const PodEntry& entry) {
        const PodIndex place{static_cast<int32_t>(t), index};
        if (entry.present()) visit(NameOf(place), place, entry);
      });
    }
    for (const auto& [name, other] : others_) visit(name, PodIndex{other.task, -1}, other.entry);
  }

 private:
  struct Other {
    int32_t task = -1;
    PodEntry entry;
  };

  // Adds or takes away the contribution of an entry to counters and sets.
  void Contribute(std::string_view name, PodIndex place, const PodEntry& entry, bool add);
  PodEntry* Slot(std::string_view name, PodIndex place);  // Null if nothing is stored for it.
  void Rebuild();
  void RebuildTask(int32_t task);

  std::string job_name_;
  std::string job_uid_;
  std::vector<TaskShape> tasks_;
  std::map<std::string, int32_t, std::less<>> task_of_;
  std::vector<PodSlots> slots_;
  std::map<std::string, Other, std::less<>> others_;
  PodRules rules_;

  int64_t total_ = 0;
  kube::v1::PodCounts counts_;
  std::vector<TaskCounts> task_counts_;
  TaskFacts facts_;
  PlaceSet missing_;
  std::set<std::string> to_mark_;
  std::set<std::string> to_delete_;
  std::set<std::string> held_;
  std::vector<std::set<int32_t>> done_;
  uint64_t done_changes_ = 0;
  bool has_reported_ = false;
  std::set<PodIndex> reported_done_;
  // Number of places that are done and not reported so, or reported so and not done.
  int64_t unreported_done_ = 0;
  int32_t targets_left_ = 0;
  int32_t foreign_labelled_ = 0;
  size_t present_ = 0;
};

}  // namespace basalt::jobsvc
