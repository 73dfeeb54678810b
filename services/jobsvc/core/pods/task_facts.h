#pragma once

// Facts that follow from the counters of the tasks of one job: whether the job's status reports the counters of all
// tasks (job spec 1.6), of which tasks pods may be made (9.7), and of which tasks no pod can be made any more, because
// a task on which theirs depends has failed for good. A change of one task costs the same in a job of any number of
// tasks. A change of its readiness, or of its having failed for good, costs one step more for each task that depends on
// it.
//
// Owned by a PodSet, which passes on every change. Pure.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

struct TaskShape {
  std::string name;
  int32_t replicas = 0;
  int32_t partition_size = 0;  // 0 if the task has no partitions.
  // Number of pods of this task that have to be ready for the tasks that depend on it.
  int32_t needed = 0;
  std::vector<int32_t> depends_on = {};  // Positions. -1 for a task that does not exist (W21) and is never ready.
  bool any = false;                      // One ready task of depends_on is enough.
};

struct TaskCounts {
  int32_t pending = 0;
  int32_t running = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  int32_t unknown = 0;
  int32_t ready = 0;              // Succeeded, or Running with every container ready (9.7).
  int64_t restarts = 0;           // Summed over Pending and Running pods of the current version (TaskFailed).
  int32_t succeeded_current = 0;  // Succeeded pods of the current version, deleted ones included (TaskCompleted).
  friend bool operator==(const TaskCounts&, const TaskCounts&) = default;
};

// Returns whether pods of the task are counted.
bool HasPods(const TaskCounts& task);

class TaskFacts {
 public:
  // Starts with these tasks, without pods and without reports.
  void Reset(const std::vector<TaskShape>& tasks);
  // Forgets the pods of all tasks. Keeps the reports.
  void ForgetPods();
  // Sets the counters of a task, which misses this many pods more than before.
  void Follow(int32_t task, const TaskCounts& counts, int32_t more_missing);

  // Forgets all reports. The tasks have these counters.
  void ForgetReported(const std::vector<TaskCounts>& counts);
  // Sets the reported counters of a task that has `counts`. -1 for a report of a task that does not exist.
  void SetReported(int32_t task, const kube::v1::PodCounts& reported, const TaskCounts& counts);
  // Returns whether exactly the tasks with pods are reported, with their present counters.
  bool MatchReported() const { return unreported_ == 0; }

  bool IsReady(int32_t task) const { return task >= 0 && facts_[task].ready; }
  // Returns whether the tasks on which it depends are ready.
  bool MayStart(int32_t task) const;
  bool MissesPods(int32_t task) const { return static_cast<size_t>(task) < facts_.size() && facts_[task].missing > 0; }
  // Tasks that miss pods and may start, in order.
  const std::set<int32_t>& startable() const { return startable_; }
  // How far a task is that depends on others. kWaits: it waits for them, so that no missing pod can be made.
  // kBeingMade: its pods are being made. kWhole: all of its pods are there and count. Pods of the run before, pods that
  // are going and foreign pods do not count: the pod of their name is still to come. A task that depends on no other is
  // kWhole.
  enum class Start { kWaits, kBeingMade, kWhole };
  Start StartOf(int32_t task) const { return facts_[task].start; }
  // Per task, whether it is at kWaits or at kBeingMade.
  std::vector<bool> Waiting() const { return AllAt(Start::kWaits); }
  std::vector<bool> BeingMade() const { return AllAt(Start::kBeingMade); }
  // Grows whenever StartOf() changes for a task.
  uint64_t start_changes() const { return start_changes_; }
  // Returns whether so many pods of the task have failed, or can never be made, that too few are left for the tasks
  // that depend on it.
  bool HasFailedForGood(int32_t task) const { return task < 0 || facts_[task].failed_for_good; }
  // Returns whether the tasks on which it depends are not ready and never will be.
  bool CanNeverStart(int32_t task) const { return facts_[task].blocked_for_good; }
  // Number of missing pods of all tasks that can never start.
  int64_t unstartable() const { return unstartable_; }

 private:
  struct Fact {
    int32_t needed = 0;
    bool ready = false;
    bool any = false;
    int32_t dependencies = 0;
    int32_t ready_dependencies = 0;
    int32_t failed_dependencies = 0;  // Dependencies that have failed for good.
    std::vector<int32_t> dependents;
    int32_t replicas = 0;
    int32_t missing = 0;
    int32_t failed = 0;
    int32_t there = 0;  // Pods that count.
    bool failed_for_good = false;
    bool blocked_for_good = false;
    int32_t unstartable = 0;  // The part of unstartable_ from this task.
    Start start = Start::kWhole;
    bool is_reported = false;  // The status contains the task, with the counters in `reported`.
    TaskCounts reported;
    bool differs = false;
  };

  std::vector<bool> AllAt(Start start) const;
  void Compare(Fact& fact, const TaskCounts& counts);
  void NoteStartable(int32_t task);
  void NoteStart(int32_t task);
  // Updates whether the task can never start or has failed for good, and then the tasks that depend on it.
  void NoteForGood(int32_t task);

  std::vector<Fact> facts_;
  std::set<int32_t> startable_;
  // Number of tasks whose report differs, and of reported names without a task.
  int64_t unreported_ = 0;
  int64_t unstartable_ = 0;
  uint64_t start_changes_ = 0;
};

}  // namespace basalt::jobsvc
