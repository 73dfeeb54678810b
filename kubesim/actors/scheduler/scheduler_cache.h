#pragma once

// The gang scheduler's view of tasks, groups, queues and nodes, with incremental counts, fed by informers. The cache
// decides nothing; it marks the groups that need a new decision. Confined to one loop.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/scheduler/gang_rules.h"
#include "kubesim/actors/scheduler/resources.h"

namespace basalt::actors {

struct Group;

struct Task {
  std::string space, name, uid;
  std::string task_spec;  // The annotation volcano.sh/task-spec.
  uint64_t sequence = 0;  // Tasks are ordered by the time at which they were first observed.
  TaskState state = TaskState::kUnknown;
  std::string node;          // The task is bound to this node, or assumed to be.
  bool assumed = false;      // A bind request is in flight.
  bool schedulable = false;  // The pod names a scheduler that is served here, and has no gates.
  bool best_effort = false;
  Amounts request;  // Includes "pods".
  std::map<std::string, std::string> node_selector;
  Group* group = nullptr;  // Null for a plain pod.
  // Returns whether the task takes capacity of its node and its queue.
  bool occupies() const { return !node.empty() && state != TaskState::kSucceeded && state != TaskState::kFailed; }
};

struct TaskOrder {
  bool operator()(const Task* a, const Task* b) const { return a->sequence < b->sequence; }
};

// The result of an attempt to place a gang that did not fit. All tasks have given their nodes back.
struct Attempt {
  int placed = 0;   // Number of pending tasks that had a node.
  int unfit = 0;    // Number of pending tasks that fitted on no node.
  int missing = 0;  // Number of tasks that the gang lacks beside the placed ones.
};

struct Group {
  std::string key, space, name;
  bool exists = false;
  std::string uid;
  uint64_t version = 0;
  json::value object;  // The newest state, without managedFields.
  std::string created;
  int min_member = 0;
  std::map<std::string, int> min_task_member;
  std::optional<Amounts> min_resources;
  std::string queue;

  std::string phase;  // The phase decided or observed last.
  GangCounts counts;
  std::map<std::string, int> ready_by_task, valid_by_task;
  std::set<Task*, TaskOrder> pending;
  size_t tasks = 0;
  Amounts allocated;

  // The members below belong to the scheduler's cycles.
  bool writing = false;  // A write of the status is in flight.
  bool blocked = false;  // The group waits for capacity or for its queue.
  absl::Time last_write = absl::InfinitePast();
  std::string last_event, last_refusal;
  std::string unscheduled_why;  // Job-level reason of the last attempt.
  std::string task_why;         // "<task>: <node fit error>".
  std::optional<Attempt> attempt;
};

struct GroupOrder {
  bool operator()(const Group* a, const Group* b) const {
    return a->created != b->created ? a->created < b->created : a->key < b->key;
  }
};

struct QueueInfo {
  bool exists = false;
  std::string state;
  Amounts capability;
  Amounts allocated;
  Amounts inqueue;  // Minimum resources of groups in phase Inqueue, which are not allocated yet.
  std::set<std::string> groups;
};

struct NodeInfo {
  bool exists = false;
  bool usable = false;  // The node is ready, not cordoned and not tainted.
  Amounts allocatable, used;
  std::map<std::string, std::string> labels;
};

class SchedulerCache {
 public:
  struct Options {
    std::set<std::string> scheduler_names;        // Schedulers of gangs.
    std::set<std::string> plain_scheduler_names;  // Schedulers of pods that are bound one by one, without a group.
    std::string default_queue;
  };
  SchedulerCache(Options options, std::function<void()> on_change);

  // Listeners for the four informers.
  InformerListener& pods() { return pods_listener_; }
  InformerListener& groups() { return groups_listener_; }
  InformerListener& queues() { return queues_listener_; }
  InformerListener& nodes() { return nodes_listener_; }
  bool synced() const { return synced_ == 4; }

  // Returns the groups that have changed since the last call, in scheduling order. After capacity was freed, blocked
  // groups are included.
  std::vector<Group*> TakeDirty();
  bool has_dirty() const { return !dirty_.empty() || room_freed_ || !plain_.empty(); }
  void MarkDirty(Group& group);
  // Capacity was freed: the next TakeDirty() includes the blocked groups.
  void RoomFreed();

  // Assigns a node to the task before the server has confirmed it. An empty node takes it back. Marks no group dirty.
  void Assume(Task& task, const std::string& node);
  void SetPhase(Group& group, std::string_view phase);
  // Stores the group's object if it is newer than the known one.
  void UpdateGroup(Group& group, const json::value& object);

  Task* FindTask(std::string_view space, std::string_view name, std::string_view uid);
  Group* FindGroup(const std::string& key);
  QueueInfo* FindQueue(const std::string& name);  // Null if it does not exist.
  // Returns the usable nodes ordered by name.
  const std::vector<std::pair<std::string, NodeInfo*>>& usable_nodes();
  std::set<Task*, TaskOrder>& plain() { return plain_; }
  const Amounts& total_allocatable();
  const Amounts& total_used() const { return total_used_; }
  const Amounts& total_inqueue() const { return total_inqueue_; }
  size_t group_count() const { return groups_.size(); }

 private:
  struct Listener : InformerListener {
    std::function<void(const json::value&)> object;
    std::function<void(const ObjectName&)> gone;
    SchedulerCache* cache = nullptr;
    void OnObject(const json::value& value) override { object(value); }
    void OnGone(const ObjectName& name) override { gone(name); }
    void OnSynced() override {
      ++cache->synced_;
      cache->on_change_();
    }
  };

  static std::string KeyOf(std::string_view space, std::string_view name);

  void OnPod(const json::value& object);
  void OnPodGone(const ObjectName& gone);
  void OnGroup(const json::value& object);
  void OnGroupGone(const ObjectName& gone);
  void OnQueue(const json::value& object);
  void OnQueueGone(const ObjectName& gone);
  void OnNode(const json::value& object);
  void OnNodeGone(const ObjectName& gone);

  void Count(Task& task, int sign);
  void CountInqueue(Group& group, int sign);
  void MoveToQueue(Group& group, const std::string& queue);
  Group& GroupOf(const std::string& key);
  void DropIfEmpty(Group& group);

  const Options options_;
  const std::function<void()> on_change_;
  Listener pods_listener_, groups_listener_, queues_listener_, nodes_listener_;
  int synced_ = 0;
  uint64_t next_sequence_ = 1;

  std::map<std::string, std::unique_ptr<Task>, std::less<>> tasks_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
  std::map<std::string, QueueInfo> queues_;
  std::map<std::string, NodeInfo> nodes_;
  std::set<std::string> dirty_;
  std::set<Task*, TaskOrder> plain_;  // Pending tasks of plain pods.
  bool room_freed_ = false;
  bool nodes_changed_ = true;
  std::vector<std::pair<std::string, NodeInfo*>> usable_;
  Amounts total_allocatable_, total_used_, total_inqueue_;
};

}  // namespace basalt::actors
