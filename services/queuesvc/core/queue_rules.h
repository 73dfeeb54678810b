#pragma once

// Rules about a queue among the others, which neither the definition nor a policy of the API server can check
// (queue spec 10.2). Pure.
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/quantity.h"
#include "services/queuesvc/core/queue_children.h"

namespace basalt::queuesvc {

// This annotation of a queue has the path of the queue below root, separated by slashes. Only its form is checked.
inline constexpr std::string_view kHierarchyKey = "volcano.sh/hierarchy";

// Returns 0 if the resource is not named or its amount is not a quantity.
kube::Quantity AmountOf(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts,
                        std::string_view resource);

// Returns null if there is no queue of that name.
using FindQueue = std::function<const kube::v1::Queue*(std::string_view name)>;
using EachQueue = std::function<void(const std::function<void(const kube::v1::Queue& queue)>& visit)>;

inline constexpr int kMostLevels = 5;  // Below root; the default of upstream's --max-queue-depth.

// Returns what is wrong with the parent of a new or existing queue; empty if nothing is. A queue that by its status
// holds pod groups of its own, and that has no queue below it yet, cannot be a parent.
std::string CheckParent(std::string_view parent, const FindQueue& find, const QueueChildren& children);

struct QueueProblem {
  std::string field;  // "spec.capability"; empty if there is no problem.
  std::string rule;
};
// Checks the resources of a new or existing queue: they must fit those of the queues above, the sums of the queues
// beside it must fit the parent, and those below, which may be older than the queue, must fit it. Reads each queue
// beside it and all queues below it. Requires: CheckParent finds no problem.
QueueProblem CheckResources(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children);
// Checks the parent, then the resources, and then that the queue's annotation volcano.sh/hierarchy is not above that of
// another queue; returns the first problem. The last check reads all queues.
QueueProblem CheckAmongOthers(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children,
                              const EachQueue& each);

// Returns why the queue may not be deleted; empty if it may.
std::string CheckDeletion(std::string_view name, const QueueChildren& children);

}  // namespace basalt::queuesvc
