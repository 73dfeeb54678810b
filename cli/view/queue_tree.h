#pragma once

// Queues formatted as a tree, for people.
#include <map>
#include <string>
#include <string_view>

#include "basalt/queue/v1/queue.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// Returns a line for each queue, below the line of its parent. Queues without a parent, or whose parent does not exist,
// are not indented. Neither is one queue of each circle of parents; a queue of a circle is printed once. Queues of
// KAI's form trees in the same way, with the pod groups that name them. Sums saturate at the limit of 64 bits. With
// `top`, which is a name as of QueueNameOf, only that queue and the queues below it are printed; all queues if it is
// empty.
std::string FormatQueueTree(const queue::v1::ListQueuesResponse& queues, std::string_view top, const Look& look = {});

// Returns a remark on each queue that has something wrong, by QueueNameOf. `queues` must have all queues.
std::map<std::string, std::string> QueueRemarks(const queue::v1::ListQueuesResponse& queues);

}  // namespace basalt::cli
