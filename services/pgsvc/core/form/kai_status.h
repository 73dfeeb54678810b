#pragma once

// Reads the status that KAI's scheduler writes into a group, as the answer to Get contains it (pod-grouper 9.1). Pure.
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

// Explains why KAI's scheduler has not placed the group. Returns one text for each reason of each node pool, with the
// scheduler's message. A reason about the queue is followed by one text for each resource: what the group requests, and
// what the queue may have and has.
std::vector<std::string> UnschedulableReasons(const kube::v1::KaiPodGroup& group);

}  // namespace basalt::pgsvc
