#pragma once

// Requests that create and change queues and their pod groups for the bench of queues. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/actors/client/api.h"

namespace basalt::bench {

// Returns a name such as "queue-7".
std::string QueueName(int number);
// Returns a name such as "queue-7-g-0".
std::string GroupName(std::string_view queue, int number);

actors::ApiRequest CreateQueue(const std::string& name, std::string_view parent);
// Creates pod groups, which are Pending.
std::vector<actors::ApiRequest> CreateGroups(std::string_view queue, int count);
actors::ApiRequest SetPhase(const std::string& group, std::string_view phase);
// Returns the changes number `from` to `from + count` of a queue with so many pod groups. The changes make each group
// Running in its turn, then each Pending again, and so on.
std::vector<actors::ApiRequest> ChangePhases(std::string_view queue, int groups, int from, int count);
// Creates the Command for the queue. `action` is one that queuesvc knows.
actors::ApiRequest OperateQueue(const std::string& name, const std::string& uid, std::string_view action);

}  // namespace basalt::bench
