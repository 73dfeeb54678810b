#include "services/jobsvc/core/render/pod_group.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "common/kube/names.h"
#include "common/kube/resources/min_resources.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;
using kube::v1::NetworkTopology;
using kube::v1::PartitionPolicy;
using kube::v1::PodGroupSpec;
using kube::v1::TaskSpec;

int32_t MinimumOf(const TaskSpec& task) {
  if (task.has_min_available()) return task.min_available();
  const PartitionPolicy& partitions = task.partition_policy();
  const int64_t product = int64_t{partitions.min_partitions()} * partitions.partition_size();
  if (product == 0) return task.replicas();
  return static_cast<int32_t>(std::clamp<int64_t>(product, 0, std::numeric_limits<int32_t>::max()));
}

// Fills the mode in as the schema of a PodGroup does, so that the observed spec equals the wanted one.
NetworkTopology WithMode(NetworkTopology topology) {
  if (topology.mode().empty()) topology.set_mode("hard");
  return topology;
}

// Keeps the number if both tier fields are set (they exclude each other in a valid job).
NetworkTopology OneTier(NetworkTopology topology) {
  if (topology.has_highest_tier_allowed()) topology.clear_highest_tier_name();
  return topology;
}

void AddSubGroup(const TaskSpec& task, PodGroupSpec& group) {
  const PartitionPolicy& partitions = task.partition_policy();
  kube::v1::SubGroupPolicy* policy = group.add_sub_group_policy();
  policy->set_name(task.name());
  policy->set_sub_group_size(partitions.partition_size());
  policy->set_min_sub_groups(partitions.min_partitions());
  kube::v1::KeyValue* label = policy->add_match_labels();
  label->set_key(std::string(kube::kTaskSpecKey));
  label->set_value(task.name());
  policy->add_match_label_keys(std::string(kube::kPartitionIdKey));
  if (partitions.has_network_topology()) *policy->mutable_network_topology() = WithMode(partitions.network_topology());
}

int64_t SumOfMinimums(const PodGroupSpec& group) {
  int64_t sum = 0;
  for (const auto& minimum : group.min_task_member()) sum += minimum.min_member();
  return sum;
}

// All partitions of a task share one size: that of the partition with the least work left. Partitions that are wholly
// done need not be satisfied any more.
void LowerSubGroups(const PartitionPolicy& partitions, const std::set<int32_t>& done,
                    kube::v1::SubGroupPolicy& policy) {
  const int32_t size = partitions.partition_size();
  if (size <= 0) return;
  std::map<int32_t, int32_t> done_of;
  for (const int32_t index : done) ++done_of[PartitionOf(index, size)];
  int32_t whole = 0;
  int32_t most = 0;
  for (const auto& [partition, count] : done_of) {
    if (count >= size) {
      ++whole;
    } else {
      most = std::max(most, count);
    }
  }
  policy.set_sub_group_size(size - most);
  policy.set_min_sub_groups(std::max(0, partitions.min_partitions() - whole));
}

bool IsTrue(const std::vector<bool>& of_tasks, int task) {
  return static_cast<size_t>(task) < of_tasks.size() && of_tasks[task];
}

// The numbers of pods from which minMember follows while tasks wait for others.
struct Stage {
  int64_t least = 0;  // Sum of the minimums of the tasks that do not wait.
  int64_t given = 0;  // Number of pods that the waiting tasks can have.
};

void Add(const TaskSpec& task, bool waits, Stage& stage) {
  if (waits) {
    stage.given += task.replicas();
  } else {
    stage.least += MinimumOf(task);
  }
}

int32_t MinMemberOf(const Stage& stage, int32_t whole) {
  return static_cast<int32_t>(std::min<int64_t>(whole, std::max(stage.least, whole - stage.given)));
}

}  // namespace

PodGroupSpec WantedPodGroup(const JobSpec& spec, const kube::ResourceMap& min_resources) {
  PodGroupSpec group;
  group.set_min_member(spec.min_available());
  for (const TaskSpec& task : spec.tasks()) {
    kube::v1::TaskMinimum* minimum = group.add_min_task_member();
    minimum->set_task(task.name());
    minimum->set_min_member(MinimumOf(task));
    if (task.has_partition_policy()) AddSubGroup(task, group);
  }
  std::sort(group.mutable_min_task_member()->begin(), group.mutable_min_task_member()->end(),
            [](const auto& a, const auto& b) { return a.task() < b.task(); });
  group.set_queue(spec.queue());
  group.set_priority_class_name(spec.priority_class_name());
  if (spec.has_network_topology()) *group.mutable_network_topology() = OneTier(WithMode(spec.network_topology()));
  kube::SetMinResources(min_resources, group);
  return group;
}

bool CountsMinimums(const PodGroupSpec& group) { return group.min_member() >= SumOfMinimums(group); }

PodGroupSpec WithoutWaiting(PodGroupSpec group, const JobSpec& spec, const std::vector<bool>& waits) {
  Stage stage;
  std::set<std::string_view> waiting;
  for (int i = 0; i < spec.tasks_size(); ++i) {
    if (IsTrue(waits, i)) waiting.insert(spec.tasks(i).name());
    Add(spec.tasks(i), IsTrue(waits, i), stage);
  }
  if (waiting.empty()) return group;
  if (CountsMinimums(group)) {
    auto& minimums = *group.mutable_min_task_member();
    minimums.erase(std::remove_if(minimums.begin(), minimums.end(),
                                  [&](const auto& minimum) { return waiting.contains(minimum.task()); }),
                   minimums.end());
  }
  auto& policies = *group.mutable_sub_group_policy();
  policies.erase(std::remove_if(policies.begin(), policies.end(),
                                [&](const auto& policy) { return waiting.contains(policy.name()); }),
                 policies.end());
  group.set_min_member(MinMemberOf(stage, group.min_member()));
  return group;
}

std::vector<bool> LeftOut(const PodGroupSpec& observed, const PodGroupSpec& whole, const JobSpec& spec,
                          const std::vector<std::set<int32_t>>& done, std::vector<bool> waits,
                          const std::vector<bool>& being_made) {
  if (std::none_of(being_made.begin(), being_made.end(), [](bool is_made) { return is_made; })) return waits;
  const bool is_named = CountsMinimums(observed);
  std::set<std::string_view> named;
  for (const auto& minimum : observed.min_task_member()) named.insert(minimum.task());
  Stage with_all;
  for (int i = 0; i < spec.tasks_size(); ++i) Add(spec.tasks(i), IsTrue(waits, i), with_all);
  const int32_t as_high = WithoutDone(WithoutWaiting(whole, spec, waits), spec, done, waits).min_member();
  for (int i = 0; i < spec.tasks_size(); ++i) {
    if (!IsTrue(being_made, i)) continue;
    const TaskSpec& task = spec.tasks(i);
    const Stage without = {.least = with_all.least - MinimumOf(task), .given = with_all.given + task.replicas()};
    const bool is_included =
        observed.min_member() >= as_high || observed.min_member() > MinMemberOf(without, whole.min_member());
    waits[i] = is_named ? !named.contains(task.name()) : !is_included;
  }
  return waits;
}

PodGroupSpec WithoutDone(PodGroupSpec group, const JobSpec& spec, const std::vector<std::set<int32_t>>& done,
                         const std::vector<bool>& waits) {
  // The scheduler checks minimums of tasks only if minMember covers them all: before this change, and after it.
  const bool by_task = CountsMinimums(group);
  int64_t all_done = 0;
  std::map<std::string_view, int> task_of;  // Tasks with finished work.
  for (int i = 0; i < spec.tasks_size() && static_cast<size_t>(i) < done.size(); ++i) {
    if (done[i].empty() || IsTrue(waits, i)) continue;
    task_of.emplace(spec.tasks(i).name(), i);
    all_done += static_cast<int64_t>(done[i].size());
  }
  if (all_done == 0) return group;
  for (auto& minimum : *group.mutable_min_task_member()) {
    const auto task = task_of.find(minimum.task());
    if (task == task_of.end()) continue;
    minimum.set_min_member(std::max(0, minimum.min_member() - static_cast<int32_t>(done[task->second].size())));
  }
  for (auto& policy : *group.mutable_sub_group_policy()) {
    const auto task = task_of.find(policy.name());
    if (task == task_of.end()) continue;
    LowerSubGroups(spec.tasks(task->second).partition_policy(), done[task->second], policy);
  }
  const int64_t left = std::max<int64_t>(0, group.min_member() - all_done);
  group.set_min_member(static_cast<int32_t>(by_task ? std::max(left, SumOfMinimums(group)) : left));
  return group;
}

}  // namespace basalt::jobsvc
