#include "kubesim/actors/scheduler/scheduler_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace basalt::actors {
namespace {

bool CountsForTask(TaskState state) {
  return state == TaskState::kBound || state == TaskState::kBinding || state == TaskState::kRunning ||
         state == TaskState::kAllocated || state == TaskState::kSucceeded;
}

}  // namespace

std::string SchedulerCache::KeyOf(std::string_view space, std::string_view name) {
  return fmt::format("{}/{}", space, name);
}

SchedulerCache::SchedulerCache(Options options, std::function<void()> on_change)
    : options_(std::move(options)), on_change_(std::move(on_change)) {
  for (Listener* listener : {&pods_listener_, &groups_listener_, &queues_listener_, &nodes_listener_}) {
    listener->cache = this;
  }
  pods_listener_.object = [this](const json::value& object) { OnPod(object); };
  pods_listener_.gone = [this](const ObjectName& gone) { OnPodGone(gone); };
  groups_listener_.object = [this](const json::value& object) { OnGroup(object); };
  groups_listener_.gone = [this](const ObjectName& gone) { OnGroupGone(gone); };
  queues_listener_.object = [this](const json::value& object) { OnQueue(object); };
  queues_listener_.gone = [this](const ObjectName& gone) { OnQueueGone(gone); };
  nodes_listener_.object = [this](const json::value& object) { OnNode(object); };
  nodes_listener_.gone = [this](const ObjectName& gone) { OnNodeGone(gone); };
}

std::vector<Group*> SchedulerCache::TakeDirty() {
  if (std::exchange(room_freed_, false)) {
    for (const auto& [key, group] : groups_) {
      if (group->blocked) dirty_.insert(key);
    }
  }
  std::vector<Group*> out;
  for (const std::string& key : std::exchange(dirty_, {})) {
    if (const auto found = groups_.find(key); found != groups_.end()) out.push_back(found->second.get());
  }
  std::sort(out.begin(), out.end(), GroupOrder());
  return out;
}

void SchedulerCache::MarkDirty(Group& group) {
  dirty_.insert(group.key);
  on_change_();
}

void SchedulerCache::RoomFreed() {
  room_freed_ = true;
  on_change_();
}

void SchedulerCache::Assume(Task& task, const std::string& node) {
  Count(task, -1);
  task.node = node;
  task.assumed = !node.empty();
  task.state = node.empty() ? TaskState::kPending : TaskState::kBinding;
  Count(task, +1);
}

void SchedulerCache::SetPhase(Group& group, std::string_view phase) {
  if (group.phase == phase) return;
  const bool was_inqueue = group.phase == "Inqueue";
  CountInqueue(group, -1);
  group.phase = phase;
  CountInqueue(group, +1);
  if (was_inqueue) RoomFreed();
}

Task* SchedulerCache::FindTask(std::string_view space, std::string_view name, std::string_view uid) {
  const auto found = tasks_.find(KeyOf(space, name));
  return found == tasks_.end() || found->second->uid != uid ? nullptr : found->second.get();
}

Group* SchedulerCache::FindGroup(const std::string& key) {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found->second.get();
}

QueueInfo* SchedulerCache::FindQueue(const std::string& name) {
  const auto found = queues_.find(name);
  return found == queues_.end() || !found->second.exists ? nullptr : &found->second;
}

const std::vector<std::pair<std::string, NodeInfo*>>& SchedulerCache::usable_nodes() {
  if (std::exchange(nodes_changed_, false)) {
    usable_.clear();
    total_allocatable_.clear();
    for (auto& [name, node] : nodes_) {
      if (!node.exists || !node.usable) continue;
      usable_.emplace_back(name, &node);
      Add(total_allocatable_, node.allocatable);
    }
  }
  return usable_;
}

const Amounts& SchedulerCache::total_allocatable() {
  usable_nodes();
  return total_allocatable_;
}

// ---- accounting ----

// Adds (sign 1) or removes (sign -1) everything that the task's present state contributes to the counts.
void SchedulerCache::Count(Task& task, int sign) {
  if (task.occupies()) {
    Add(nodes_[task.node].used, task.request, sign);
    Add(total_used_, task.request, sign);
  }
  const bool pending = task.state == TaskState::kPending && task.schedulable;
  if (task.group == nullptr) {
    if (pending) sign > 0 ? void(plain_.insert(&task)) : void(plain_.erase(&task));
    return;
  }
  Group& group = *task.group;
  group.counts.Of(task.state) += sign;
  if (task.state == TaskState::kReleasing && !task.node.empty()) group.counts.releasing_with_node += sign;
  if (task.state == TaskState::kPending && task.best_effort) group.counts.best_effort_pending += sign;
  if (CountsForTask(task.state)) group.ready_by_task[task.task_spec] += sign;
  if (CountsForTask(task.state) || task.state == TaskState::kPending) group.valid_by_task[task.task_spec] += sign;
  if (pending) sign > 0 ? void(group.pending.insert(&task)) : void(group.pending.erase(&task));
  if (task.occupies()) {
    Add(group.allocated, task.request, sign);
    Add(queues_[group.queue].allocated, task.request, sign);
  }
}

void SchedulerCache::CountInqueue(Group& group, int sign) {
  if (group.phase != "Inqueue" || !group.min_resources.has_value()) return;
  Add(queues_[group.queue].inqueue, *group.min_resources, sign);
  Add(total_inqueue_, *group.min_resources, sign);
}

void SchedulerCache::MoveToQueue(Group& group, const std::string& queue) {
  if (group.queue == queue) return;
  QueueInfo& from = queues_[group.queue];
  Add(from.allocated, group.allocated, -1);
  from.groups.erase(group.key);
  group.queue = queue;
  QueueInfo& to = queues_[queue];
  Add(to.allocated, group.allocated);
  to.groups.insert(group.key);
}

Group& SchedulerCache::GroupOf(const std::string& key) {
  std::unique_ptr<Group>& group = groups_[key];
  if (group == nullptr) {
    group = std::make_unique<Group>();
    group->key = key;
    const size_t slash = key.find('/');
    group->space = key.substr(0, slash);
    group->name = key.substr(slash + 1);
  }
  return *group;
}

void SchedulerCache::DropIfEmpty(Group& group) {
  if (group.exists || group.tasks > 0) return;
  MoveToQueue(group, "");
  queues_[""].groups.erase(group.key);
  dirty_.erase(group.key);
  groups_.erase(group.key);
}

}  // namespace basalt::actors
