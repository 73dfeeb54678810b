#pragma once

// PodGroup.spec.minResources of a Volcano Job (job spec 9.10). Pure.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/resources/resources.h"

namespace basalt::kube {

// What one task contributes. It follows from the spec alone: worth keeping while the spec stays the same.
struct TaskDemand {
  int64_t replicas = 0;
  std::optional<int64_t> min_available;
  std::string priority_class;  // Of the task's template; the job's own class is not looked at.
  ResourceMap per_pod;
};

// INVALID_ARGUMENT names task, container and resource.
absl::StatusOr<std::vector<TaskDemand>> TaskDemands(const v1::JobSpec& spec);

// The value of a PriorityClass; 0 for one that does not exist.
using PriorityLookup = std::function<int32_t(std::string_view priority_class)>;

// The usage of the first `min_available` pods, tasks with the highest priority first, each task's own minimum before
// anything beyond the minimums.
ResourceMap MinResources(const std::vector<TaskDemand>& tasks, int64_t min_available,
                         const PriorityLookup& priority_of);

// Into PodGroup.spec.minResources: sorted by name, canonical texts; present also when empty.
void SetMinResources(const ResourceMap& resources, v1::PodGroupSpec& spec);

// TaskDemands and MinResources for a spec.
absl::StatusOr<ResourceMap> MinResources(const v1::JobSpec& spec, const PriorityLookup& priority_of);

}  // namespace basalt::kube
