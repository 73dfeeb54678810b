// Reads objects into the scheduler's cache.
#include <cstdlib>
#include <utility>

#include "common/base/json_int32.h"
#include "common/kube/names.h"
#include "kubesim/actors/scheduler/scheduler_cache.h"

namespace basalt::actors {
namespace {

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

}  // namespace

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
  group.min_member = FindInt32(spec, "minMember");
  group.min_task_member.clear();
  if (const json::value* minimums = Find(spec, "minTaskMember"); minimums != nullptr && minimums->is_object()) {
    for (const auto& entry : minimums->get_object()) {
      const std::string name(entry.key().data(), entry.key().size());
      group.min_task_member[name] = FindInt32(*minimums, name);
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
