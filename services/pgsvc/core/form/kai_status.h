#pragma once

// The status that KAI's scheduler writes into a group, which an answer to Get has (pod-grouper 9.1). Pure.
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

// Why KAI's scheduler has not placed the group. One text for each reason of each node pool, in the scheduler's words;
// after a reason that has to do with the queue one text for each resource: what the group asks for, and what the queue
// may have and has.
std::vector<std::string> UnschedulableReasons(const kube::v1::KaiPodGroup& group);

}  // namespace basalt::pgsvc
