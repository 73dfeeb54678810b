#pragma once

// Rules about a queue among the others, which neither the definition nor a policy of the API server can have (queue
// spec 10.2). Pure.
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/quantity.h"
#include "services/queuesvc/core/queue_children.h"

namespace basalt::queuesvc {

inline constexpr std::string_view kHierarchyKey = "volcano.sh/hierarchy";  // An annotation.

// 0 where the resource is not named, or is no quantity.
kube::Quantity AmountOf(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts,
                        std::string_view resource);

// Null: there is none of that name.
using FindQueue = std::function<const kube::v1::Queue*(std::string_view name)>;
using EachQueue = std::function<void(const std::function<void(const kube::v1::Queue& queue)>& visit)>;

inline constexpr int kMostLevels = 5;  // Below root, as upstream's --max-queue-depth has it by default.

// What is wrong with the parent of a queue, which is there or is to be made; empty: nothing. A queue that holds pod
// groups of its own, as its status tells, and has nobody below it takes nobody.
std::string CheckParent(std::string_view parent, const FindQueue& find, const QueueChildren& children);

struct QueueProblem {
  std::string field;  // "spec.capability"; empty: there is none.
  std::string rule;
};
// Whether the resources of the queue, which is there or is to be made, fit the queues above, with those beside the
// queue their parent, and those below the queue, which may be there before it. Looks at each queue beside it, and at
// all that are below it. Requires: CheckParent has nothing to say.
QueueProblem CheckResources(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children);
// The parent of the queue, if nothing is wrong with the parent the resources, then whether its annotation
// volcano.sh/hierarchy is above that of another queue, for which all queues are looked at.
QueueProblem CheckAmongOthers(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children,
                              const EachQueue& each);

// Why the queue may not be deleted; empty: it may.
std::string CheckDeletion(std::string_view name, const QueueChildren& children);

}  // namespace basalt::queuesvc
