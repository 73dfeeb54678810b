#pragma once

// What a queue says of itself that no scheduler can use, whatever other queues there are (queue spec 10.2-1 and the
// first rule of 10.2-2). The definition and the policies of deploy/admission refuse the same, and weights
// such as 1e3, too; a server may have neither. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

// In the order of the fields; empty: nothing is wrong. An amount that is no quantity counts as 0.
std::vector<QueueProblem> CheckQueueSpec(const kube::v1::Queue& queue);
// The same in one text, "spec.deserved: …; …", with the circle of its parents, as CircleText has it; empty: nothing is
// wrong.
std::string QueueSpecWarning(const kube::v1::Queue& queue, std::string_view circle = {});

// The circle of parents in which these queues are, each followed by its parent, as a text that is the same from every
// queue in it; empty: they are fewer than two, and a queue that is its own parent breaks a rule of its own.
std::string CircleText(std::vector<std::string_view> queues);

}  // namespace basalt::queuesvc
