#include "services/jobsvc/core/render/pod_group.h"

#include <algorithm>
#include <limits>

#include "common/kube/names.h"
#include "common/kube/resources/min_resources.h"

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

// As the schema of a PodGroup fills it in: what is observed then equals what is wanted.
NetworkTopology WithMode(NetworkTopology topology) {
  if (topology.mode().empty()) topology.set_mode("hard");
  return topology;
}

// Of the two tier fields the number wins (they exclude each other in a valid job).
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

}  // namespace basalt::jobsvc
