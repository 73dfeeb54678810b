#include "kubesim/actors/scheduler_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/kube/names.h"

namespace basalt::actors {
namespace {

std::string KeyOf(std::string_view space, std::string_view name) { return fmt::format("{}/{}", space, name); }

std::map<std::string, std::string> Strings(const json::value* object) {
  std::map<std::string, std::string> out;
  if (object == nullptr || !object->is_object()) return out;
  for (const auto& entry : object->get_object()) {
    if (entry.value().is_string()) {
      out.emplace(std::string(entry.key().data(), entry.key().size()), entry.value().get_string().c_str());
    }
  }
  return out;
}

bool IsTrue(const json::value* value) { return value != nullptr && value->is_bool() && value->get_bool(); }

uint64_t VersionOf(const json::value& metadata) {
  return std::strtoull(std::string(FindString(metadata, "resourceVersion")).c_str(), nullptr, 10);
}

bool CountsForTask(TaskState state) {
  return state == TaskState::kBound || state == TaskState::kBinding || state == TaskState::kRunning ||
         state == TaskState::kAllocated || state == TaskState::kSucceeded;
}

}  // namespace

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

// ---- decisions' side ----

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

// Adds or removes everything that the task's present state contributes.
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

// ---- intake ----

void SchedulerCache::OnPod(const json::value& object) {
  const json::value& metadata = *Find(object, "metadata");
  const json::value* spec = Find(object, "spec");
  if (spec == nullptr) return;
  std::string key = KeyOf(FindString(metadata, "namespace"), FindString(metadata, "name"));
  const json::value* annotations = Find(metadata, "annotations");
  const std::string_view group_name =
      annotations == nullptr ? std::string_view() : FindString(*annotations, kube::kGroupNameKey);
  const std::string scheduler(FindString(*spec, "schedulerName"));
  const std::string_view node = FindString(*spec, "nodeName");
  const bool served = options_.scheduler_names.contains(scheduler);
  const bool plain = options_.plain_scheduler_names.contains(scheduler);

  bool occupied = false;
  std::unique_ptr<Task>& slot = tasks_[key];
  const bool fresh = slot == nullptr;
  if (fresh) {
    slot = std::make_unique<Task>();
    slot->space = FindString(metadata, "namespace");
    slot->name = FindString(metadata, "name");
    slot->uid = FindString(metadata, "uid");
    slot->sequence = next_sequence_++;
    slot->request = PodRequest(*spec);
    slot->best_effort = slot->request.empty();
    slot->request[kPodsResource] = 1000;
    slot->node_selector = Strings(Find(*spec, "nodeSelector"));
  } else {
    occupied = slot->occupies();
    Count(*slot, -1);
  }
  Task& task = *slot;
  Group* group = group_name.empty() || plain ? nullptr : &GroupOf(KeyOf(task.space, group_name));
  if (group != task.group) {
    if (Group* old = task.group; old != nullptr) {
      --old->tasks;
      MarkDirty(*old);
      task.group = nullptr;
      DropIfEmpty(*old);
    }
    task.group = group;
    if (group != nullptr) ++group->tasks;
  }
  if (annotations != nullptr) task.task_spec = FindString(*annotations, kube::kTaskSpecKey);
  const json::value* gates = Find(*spec, "schedulingGates");
  const bool gated = gates != nullptr && gates->is_array() && !gates->get_array().empty();
  task.schedulable = !gated && (group != nullptr ? served : plain);

  const json::value* status = Find(object, "status");
  const json::value* deletion = Find(metadata, "deletionTimestamp");
  const std::string_view phase = status == nullptr ? std::string_view() : FindString(*status, "phase");
  const TaskState state = TaskStateOf(phase, deletion != nullptr && deletion->is_string(), !node.empty());
  if (!node.empty()) {
    task.node = node;
    task.assumed = false;
    task.state = state;
  } else if (!task.assumed || state != TaskState::kPending) {
    task.node.clear();
    task.assumed = false;
    task.state = state;
  }
  Count(task, +1);
  if (occupied && !task.occupies()) RoomFreed();
  if (group != nullptr) {
    MarkDirty(*group);
  } else if (task.state == TaskState::kPending && task.schedulable) {
    on_change_();
  }
}

void SchedulerCache::OnPodGone(const ObjectName& gone) {
  const auto found = tasks_.find(KeyOf(gone.space, gone.name));
  if (found == tasks_.end()) return;
  const std::unique_ptr<Task> task = std::move(found->second);
  tasks_.erase(found);
  Count(*task, -1);
  if (task->occupies()) RoomFreed();
  if (task->group == nullptr) return;
  --task->group->tasks;
  MarkDirty(*task->group);
  DropIfEmpty(*task->group);
}

void SchedulerCache::OnGroup(const json::value& object) {
  const json::value& metadata = *Find(object, "metadata");
  UpdateGroup(GroupOf(KeyOf(FindString(metadata, "namespace"), FindString(metadata, "name"))), object);
}

void SchedulerCache::UpdateGroup(Group& group, const json::value& object) {
  const json::value& metadata = *Find(object, "metadata");
  const uint64_t version = VersionOf(metadata);
  const std::string_view uid = FindString(metadata, "uid");
  if (group.exists && group.uid == uid && version <= group.version) return;
  const bool was_inqueue = group.phase == "Inqueue";
  CountInqueue(group, -1);
  group.exists = true;
  if (group.uid != uid) group.last_event.clear();
  group.uid = uid;
  group.version = version;
  group.object = object;
  if (json::value* own = group.object.as_object().if_contains("metadata"); own != nullptr && own->is_object()) {
    own->get_object().erase("managedFields");
  }
  group.created = FindString(metadata, "creationTimestamp");
  static const json::value kNoSpec = json::object();
  const json::value* found = Find(object, "spec");
  const json::value& spec = found == nullptr ? kNoSpec : *found;
  group.min_member = static_cast<int>(FindInt(spec, "minMember"));
  group.min_task_member.clear();
  if (const json::value* minimums = Find(spec, "minTaskMember"); minimums != nullptr && minimums->is_object()) {
    for (const auto& entry : minimums->get_object()) {
      const std::string name(entry.key().data(), entry.key().size());
      group.min_task_member[name] = static_cast<int>(FindInt(*minimums, name));
    }
  }
  group.min_resources.reset();
  if (const json::value* minimum = Find(spec, "minResources"); minimum != nullptr && minimum->is_object()) {
    group.min_resources = SchedulableAmountsOf(minimum);
  }
  std::string queue(FindString(spec, "queue"));
  if (queue.empty()) queue = options_.default_queue;
  MoveToQueue(group, queue);
  queues_[queue].groups.insert(group.key);
  const json::value* status = Find(object, "status");
  group.phase = status == nullptr ? std::string_view() : FindString(*status, "phase");
  CountInqueue(group, +1);
  if (was_inqueue && group.phase != "Inqueue") RoomFreed();
  MarkDirty(group);
}

void SchedulerCache::OnGroupGone(const ObjectName& gone) {
  const auto found = groups_.find(KeyOf(gone.space, gone.name));
  if (found == groups_.end() || found->second->uid != gone.uid) return;
  Group& group = *found->second;
  if (group.phase == "Inqueue") RoomFreed();
  CountInqueue(group, -1);
  group.exists = false;
  group.blocked = false;
  group.phase.clear();
  group.object = nullptr;
  group.uid.clear();
  DropIfEmpty(group);
}

void SchedulerCache::OnQueue(const json::value& object) {
  const std::string name(FindString(*Find(object, "metadata"), "name"));
  QueueInfo& queue = queues_[name];
  const json::value* status = Find(object, "status");
  std::string state(status == nullptr ? std::string_view() : FindString(*status, "state"));
  Amounts capability = AmountsOf(FindPath(object, {"spec", "capability"}));
  if (queue.exists && queue.state == state && queue.capability == capability) return;
  queue.exists = true;
  queue.state = std::move(state);
  queue.capability = std::move(capability);
  for (const std::string& key : queue.groups) dirty_.insert(key);
  on_change_();
}

void SchedulerCache::OnQueueGone(const ObjectName& gone) { queues_[gone.name].exists = false; }

void SchedulerCache::OnNode(const json::value& object) {
  const std::string name(FindString(*Find(object, "metadata"), "name"));
  NodeInfo& node = nodes_[name];
  node.exists = true;
  node.allocatable = AmountsOf(FindPath(object, {"status", "allocatable"}));
  node.labels = Strings(FindPath(object, {"metadata", "labels"}));
  bool ready = false;
  if (const json::value* conditions = FindPath(object, {"status", "conditions"});
      conditions != nullptr && conditions->is_array()) {
    for (const json::value& condition : conditions->get_array()) {
      if (FindString(condition, "type") == "Ready") ready = FindString(condition, "status") == "True";
    }
  }
  bool tainted = false;
  if (const json::value* taints = FindPath(object, {"spec", "taints"}); taints != nullptr && taints->is_array()) {
    for (const json::value& taint : taints->get_array()) {
      if (FindString(taint, "effect") != "PreferNoSchedule") tainted = true;
    }
  }
  node.usable = ready && !tainted && !IsTrue(FindPath(object, {"spec", "unschedulable"}));
  nodes_changed_ = true;
  RoomFreed();
}

void SchedulerCache::OnNodeGone(const ObjectName& gone) {
  nodes_[gone.name].exists = false;
  nodes_changed_ = true;
}

}  // namespace basalt::actors
