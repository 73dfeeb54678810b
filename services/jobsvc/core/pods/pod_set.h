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
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/pods/places/done_indices.h"
#include "services/jobsvc/core/pods/places/job_shape.h"
#include "services/jobsvc/core/pods/places/place_set.h"
#include "services/jobsvc/core/pods/places/pod_entries.h"
#include "services/jobsvc/core/pods/places/pod_slots.h"
#include "services/jobsvc/core/pods/pod_removals.h"
#include "services/jobsvc/core/pods/pod_rules.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

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
  bool MatchesReported() const { return has_reported_ && facts_.MatchReported() && done_.MatchReported(); }

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

  // Null if there is no such pod. The pointer is valid until a pod is removed or the tasks are set.
  const PodEntry* Find(std::string_view name) const;
  // Like Find(), but also returns the entry of an index that is done although its pod is gone.
  const PodEntry* HolderOf(std::string_view name) const;

  const kube::v1::PodCounts& counts() const { return counts_; }
  const std::vector<TaskCounts>& task_counts() const { return task_counts_; }
  // The tasks, and the names and places of their pods.
  const JobShape& shape() const { return shape_; }
  const PodRules& rules() const { return rules_; }
  size_t known() const { return present_; }        // Number of pods present, foreign ones included.
  size_t room() const { return entries_.room(); }  // Number of entries in memory for pods at an index.

  // Indices without a pod whose work is not done, in order.
  const PlaceSet& missing() const { return missing_; }
  // The pods to be marked and deleted.
  const PodRemovals& removals() const { return removals_; }
  // Names that a foreign pod has.
  const std::set<std::string>& held() const { return held_; }
  // The indices that are done although their pod is gone. Counts every rebuild as a change.
  const DoneIndices& done() const { return done_; }
  // Facts per task: which tasks are ready, and of which tasks pods may be made.
  const TaskFacts& facts() const { return facts_; }

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
    const std::vector<PodSlots>& slots = entries_.slots();
    for (size_t t = 0; t < slots.size(); ++t) {
      slots[t].ForEach([&](int32_t index, const PodEntry& entry) {
        const PodIndex place{static_cast<int32_t>(t), index};
        if (entry.present()) visit(shape_.NameOf(place), place, entry);
      });
    }
    for (const auto& [name, other] : entries_.others()) visit(name, PodIndex{other.task, -1}, other.entry);
  }

 private:
  // Adds or takes away the contribution of an entry to counters and sets.
  void Contribute(std::string_view name, PodIndex place, const PodEntry& entry, bool add);
  void Rebuild();
  void RebuildTask(int32_t task);

  std::string job_uid_;
  JobShape shape_;
  PodEntries entries_;
  PodRules rules_;

  kube::v1::PodCounts counts_;
  std::vector<TaskCounts> task_counts_;
  TaskFacts facts_;
  PlaceSet missing_;
  PodRemovals removals_;
  std::set<std::string> held_;
  DoneIndices done_;
  bool has_reported_ = false;
  size_t present_ = 0;
};

}  // namespace basalt::jobsvc
