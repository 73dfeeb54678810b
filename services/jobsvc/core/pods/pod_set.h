#pragma once

// The pods of one job as its controller last recorded them: by index, with everything that a pass needs kept
// incrementally. Counters (job spec 9.6) and the sets of missing, to-be-marked and to-be-deleted pods follow every
// change at a cost that does not depend on the size of the job; only a change of the rules (a kill, a new phase class)
// or of the shape (scaling) walks over all pods. Indices without a pod whose work is not done take no memory, however
// many the spec asks for: missing ones are ranges.
//
// Not thread-safe. Pure memory: what is stored lives in PodRecord.
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

// What the name <job>-<task>-<index> says; the index is what follows the last dash, so the task between is unambiguous.
struct ParsedPodName {
  std::string_view task;
  int32_t index = -1;  // -1: what follows is none, as it is written.
};
// nullopt: it is no name of that job's.
std::optional<ParsedPodName> ParsePodName(std::string_view name, std::string_view job);

// What one observation did.
struct PodChange {
  std::string name;
  PodIndex place;
  PodEntry before;  // Not present: first seen.
  PodEntry after;   // Not present: gone.
  TaskCounts task_before;
  TaskCounts task_after;
  bool was_ours_to_delete = false;  // Before it went: marked, targeted, superseded or surplus.
};

class PodSet {
 public:
  // Forgets everything.
  void Reset(std::string_view job_name, std::string_view job_uid);
  // Sets the tasks. Pods that have no index any more become surplus, and the other way round. Returns the names of pods
  // whose place changed.
  std::vector<std::string> SetTasks(std::vector<TaskShape> tasks);
  void SetRules(PodRules rules);
  // What the job's status says of its tasks, and of what is done although its pod is gone. Forgotten with the shape.
  void SetReported(const kube::v1::JobStatus& status, const std::map<std::string, std::set<int32_t>>& done);
  void ForgetReported() { has_reported_ = false; }
  bool has_reported() const { return has_reported_; }
  // Both are still so.
  bool MatchesReported() const { return has_reported_ && facts_.MatchReported() && unreported_done_ == 0; }

  // A newer state of a pod whose routing key is this job's. `ours`: owner UID and annotations say so.
  PodChange Apply(const kube::v1::Pod& pod);
  // The pod is gone. Nothing happens when another UID holds the name by now.
  PodChange Remove(std::string_view name, std::string_view uid);
  // Undoes Apply and Remove of an older pod of that name. `entry`: HolderOf(name) of before.
  void PutBack(std::string_view name, const PodEntry& entry);
  // From the store, before the shape is known.
  void Restore(std::string_view name, const storage::v1::PodRecord& record);
  void AddFlag(std::string_view name, PodFlag flag);
  void SetSucceededGone(PodIndex place, bool value);

  // -1: there is no such task.
  int32_t TaskOf(std::string_view name) const;
  // The place that a name means in the present shape.
  PodIndex PlaceOf(std::string_view name) const;
  std::string NameOf(PodIndex place) const;
  // Null: there is no such pod. A pointer holds until a pod goes, or the tasks are set.
  const PodEntry* Find(std::string_view name) const;
  // The same, or what says that the work of the name's index is done although its pod is gone.
  const PodEntry* HolderOf(std::string_view name) const;

  const kube::v1::PodCounts& counts() const { return counts_; }
  const std::vector<TaskCounts>& task_counts() const { return task_counts_; }
  const std::vector<TaskShape>& tasks() const { return tasks_; }
  const PodRules& rules() const { return rules_; }
  int64_t total() const { return total_; }
  size_t known() const;  // Pods present, foreign ones included.
  size_t room() const;   // So many entries take memory for pods at an index.

  // Indices without a pod whose work is not done, in order.
  const PlaceSet& missing() const { return missing_; }
  // Names of pods to be marked out-of-sync before they go (targets, surplus), and of those to be deleted.
  const std::set<std::string>& to_mark() const { return to_mark_; }
  const std::set<std::string>& to_delete() const { return to_delete_; }
  bool HasTargetsLeft() const { return targets_left_ > 0; }
  // There are pods that are not this job's and carry the label by which its own are deleted together.
  bool HasForeignLabelled() const { return foreign_labelled_ > 0; }
  // Places whose name is held by a pod that is not this job's.
  const std::set<std::string>& held() const { return held_; }
  // Per task the indices that are done although their pod is gone.
  const std::vector<std::set<int32_t>>& done() const { return done_; }
  // Of the tasks one by one: what is ready, and of which pods may be made.
  const TaskFacts& facts() const { return facts_; }
  // Grows with every change of done(), and where everything was looked at anew.
  uint64_t done_changes() const { return done_changes_; }

  // What the counts would be under other rules. Walks over all pods.
  std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> CountUnder(const PodRules& rules) const;
  // The same as the incremental counters, from scratch: for tests and self-checks.
  std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> Recount() const { return CountUnder(rules_); }
  // UIDs of this job's present pods in `task` (all when -1), narrowed to one partition when that is >= 0.
  std::set<std::string> Uids(int32_t task, int32_t partition) const;
  // UIDs of those that count as terminating.
  std::set<std::string> Terminating() const;
  // Names of this job's pods of tasks that it does not have, and that are not going. Walks over those at no index.
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

  // Adds or takes away everything that an entry contributes to counters and sets.
  void Contribute(std::string_view name, PodIndex place, const PodEntry& entry, bool add);
  PodEntry* Slot(std::string_view name, PodIndex place);  // Null: nothing is known of it.
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
  int64_t unreported_done_ = 0;  // Places that are done and not told so, or told so and not done.
  int32_t targets_left_ = 0;
  int32_t foreign_labelled_ = 0;
  size_t present_ = 0;
};

}  // namespace basalt::jobsvc
