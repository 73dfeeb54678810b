#pragma once

// Commands as Kubernetes stores them (job spec 1.7). A Command knows no target below the job: tasks, pods and
// partitions stand in an annotation of ours. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

// The part of the job that an action is about. A member is empty if the request does not name it.
struct CommandTarget {
  std::string task;
  std::string pod;
  std::string pod_uid;
  std::optional<int32_t> partition;
  friend bool operator==(const CommandTarget&, const CommandTarget&) = default;
};

// Returns the target that the Command names. An annotation that cannot be read names none, and its action finds nothing
// to do.
CommandTarget TargetOf(const kube::v1::Command& command);

// The name of the Command that one request makes: the same for the same job, action, target and id.
std::string CommandName(const kube::v1::Job& job, std::string_view action, const CommandTarget& target,
                        std::string_view request_id);

// The Command as JSON. The job owns the Command and is its target.
std::string CommandJson(const kube::v1::Job& job, std::string_view name, std::string_view action,
                        const CommandTarget& target);

// Returns "task t, partition 2", "pod p" or "".
std::string TargetText(const CommandTarget& target);

}  // namespace basalt::jobsvc
