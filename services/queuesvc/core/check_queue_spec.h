#pragma once

// Checks of one queue's spec, whatever other queues exist (queue spec 10.2-1 and the first rule of 10.2-2). No
// scheduler can use a spec that fails a check. The definition and the policies of deploy/admission refuse the same
// specs, and also weights such as 1e3; a server may have neither. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

// Returns the problems in the order of the fields; empty if the spec has none. An amount that is not a quantity counts
// as 0.
std::vector<QueueProblem> CheckQueueSpec(const kube::v1::Queue& queue);
// Returns the same problems as one text, "spec.deserved: …; …", with the circle of the queue's parents (see
// CircleText). Returns "" if nothing is wrong.
std::string QueueSpecWarning(const kube::v1::Queue& queue, std::string_view circle = {});

// Describes a circle of parents, in which each of `queues` is followed by its parent. The text is the same whichever
// queue comes first. Returns "" for fewer than two queues: a queue that is its own parent breaks a rule of its own.
std::string CircleText(std::vector<std::string_view> queues);

}  // namespace basalt::queuesvc
