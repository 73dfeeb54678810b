#pragma once

// Computes PodGroup.spec.minResources of a Volcano Job (job spec 9.10). Pure.
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

// The contribution of one task. It follows from the spec alone, so a caller may keep it until the spec changes.
struct TaskDemand {
  int64_t replicas = 0;
  std::optional<int64_t> min_available;
  std::string priority_class;  // The class of the task's template. The job's own class is ignored.
  ResourceMap per_pod;
};

// INVALID_ARGUMENT names task, container and resource.
absl::StatusOr<std::vector<TaskDemand>> TaskDemands(const v1::JobSpec& spec);

// Returns the value of a PriorityClass. 0 if the class does not exist.
using PriorityLookup = std::function<int32_t(std::string_view priority_class)>;

// Returns the usage of the first `min_available` pods. Tasks with the highest priority come first, and the minimums of
// all tasks come before any pod beyond them.
ResourceMap MinResources(const std::vector<TaskDemand>& tasks, int64_t min_available,
                         const PriorityLookup& priority_of);

// Sets PodGroup.spec.minResources, sorted by name and in canonical texts. The field is present also if it is empty.
void SetMinResources(const ResourceMap& resources, v1::PodGroupSpec& spec);

// Combines TaskDemands and MinResources for a spec.
absl::StatusOr<ResourceMap> MinResources(const v1::JobSpec& spec, const PriorityLookup& priority_of);

}  // namespace basalt::kube
