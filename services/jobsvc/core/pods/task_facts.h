#pragma once

// What follows from the counters of the tasks of one job, kept task by task: whether the job's status says the same of
// all of them (job spec 1.6), of which of them pods may be made (9.7), and of which of them none can be made any more,
// because a task that they depend on has failed for good. A change of one task costs the same in a job of any number of
// tasks, and where it becomes ready or fails for good, or is so no more, one step for each that depends on it.
//
// Owned by a PodSet, which tells of every change. Pure.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

struct TaskShape {
  std::string name;
  int32_t replicas = 0;
  int32_t partition_size = 0;  // 0: no partitions.
  // For those that depend on it: so many of its pods are to be ready.
  int32_t needed = 0;
  std::vector<int32_t> depends_on = {};  // Positions; -1: there is no such task (W21), it is never ready.
  bool any = false;                      // One of them is enough.
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

// Some of its pods are counted.
bool HasPods(const TaskCounts& task);

class TaskFacts {
 public:
  // Of these tasks, without pods and with nothing told of them.
  void Reset(const std::vector<TaskShape>& tasks);
  // They are without pods again. What is told of them stays.
  void ForgetPods();
  // A task has these counters by now, and misses so many pods more than before.
  void Follow(int32_t task, const TaskCounts& counts, int32_t more_missing);

  // The status says nothing of them, which have these counters.
  void ForgetReported(const std::vector<TaskCounts>& counts);
  // It says this of a task with these counters; -1: of one that there is not.
  void SetReported(int32_t task, const kube::v1::PodCounts& reported, const TaskCounts& counts);
  // Of all that have pods what is so, and nothing of others.
  bool MatchReported() const { return unreported_ == 0; }

  bool IsReady(int32_t task) const { return task >= 0 && facts_[task].ready; }
  // What it depends on is ready.
  bool MayStart(int32_t task) const;
  bool MissesPods(int32_t task) const { return static_cast<size_t>(task) < facts_.size() && facts_[task].missing > 0; }
  // Those that miss pods and may start, in order.
  const std::set<int32_t>& startable() const { return startable_; }
  // How far the pods of a task are that depends on others: it waits for these, so that none that is missing can be
  // made; some of them are being made; or all are there, which are those that count: a pod of the run before, one that
  // is going, or one that is not the job's holds a name, and the pod of that name is still to come. A task that depends
  // on no other is whole.
  enum class Start { kWaits, kBeingMade, kWhole };
  Start StartOf(int32_t task) const { return facts_[task].start; }
  // Per task, whether it waits; whether its pods are being made.
  std::vector<bool> Waiting() const { return AllAt(Start::kWaits); }
  std::vector<bool> BeingMade() const { return AllAt(Start::kBeingMade); }
  // Grows whenever StartOf tells something else of a task.
  uint64_t start_changes() const { return start_changes_; }
  // So many of its pods have failed, or can never be made, that the others are fewer than tasks that depend on it need.
  bool HasFailedForGood(int32_t task) const { return task < 0 || facts_[task].failed_for_good; }
  // What it depends on is not ready, and never will be.
  bool CanNeverStart(int32_t task) const { return facts_[task].blocked_for_good; }
  // Missing pods of all tasks that can never start.
  int64_t unstartable() const { return unstartable_; }

 private:
  struct Fact {
    int32_t needed = 0;
    bool ready = false;
    bool any = false;
    int32_t dependencies = 0;
    int32_t ready_dependencies = 0;
    int32_t failed_dependencies = 0;  // For good.
    std::vector<int32_t> dependents;
    int32_t replicas = 0;
    int32_t missing = 0;
    int32_t failed = 0;
    int32_t there = 0;  // Pods that count.
    bool failed_for_good = false;
    bool blocked_for_good = false;
    int32_t unstartable = 0;  // Counted in unstartable_.
    Start start = Start::kWhole;
    bool is_reported = false;  // The status names it, with these counters.
    TaskCounts reported;
    bool differs = false;
  };

  std::vector<bool> AllAt(Start start) const;
  void Compare(Fact& fact, const TaskCounts& counts);
  void NoteStartable(int32_t task);
  void NoteStart(int32_t task);
  // Whether it can never start, or has failed for good; and what follows for those that depend on it.
  void NoteForGood(int32_t task);

  std::vector<Fact> facts_;
  std::set<int32_t> startable_;
  int64_t unreported_ = 0;  // Tasks that differ, and names that are none of theirs.
  int64_t unstartable_ = 0;
  uint64_t start_changes_ = 0;
};

}  // namespace basalt::jobsvc
