#pragma once

// Queues as they stand one below the other.
#include <map>
#include <string>
#include <string_view>

#include "basalt/queue/v1/queue.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// A line for each queue, below its parent; queues without a parent, or whose parent does not exist, come first in their
// line, and so do those that are below themselves, once. Queues of KAI's stand below each other in the same way, with
// the pod groups that name them; sums stay at the most that 64 bits hold. `top`: that queue and those below it alone,
// by QueueNameOf; empty: all.
std::string FormatQueueTree(const queue::v1::ListQueuesResponse& queues, std::string_view top, const Look& look = {});

// What is wrong with each queue of a list of all of them, by QueueNameOf; a queue that is as it should be is not there.
std::map<std::string, std::string> QueueRemarks(const queue::v1::ListQueuesResponse& queues);

}  // namespace basalt::cli
