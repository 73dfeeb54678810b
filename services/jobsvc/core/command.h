#pragma once

// Commands as Kubernetes holds them (job spec 1.7), which know no target below the job: tasks, pods and partitions
// stand in an annotation of ours. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

// What of the job an action is about; empty members: not said.
struct CommandTarget {
  std::string task;
  std::string pod;
  std::string pod_uid;
  std::optional<int32_t> partition;
  friend bool operator==(const CommandTarget&, const CommandTarget&) = default;
};

// What the Command says; one that cannot be read is none, and such an action finds nothing to do.
CommandTarget TargetOf(const kube::v1::Command& command);

// The name under which one request makes its Command: the same for the same job, action, target and id.
std::string CommandName(const kube::v1::Job& job, std::string_view action, const CommandTarget& target,
                        std::string_view request_id);

// The Command as JSON: owned by the job, which is also its target.
std::string CommandJson(const kube::v1::Job& job, std::string_view name, std::string_view action,
                        const CommandTarget& target);

// "task t, partition 2", "pod p", or empty.
std::string TargetText(const CommandTarget& target);

}  // namespace basalt::jobsvc
