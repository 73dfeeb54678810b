#pragma once

// Queues and their pod groups as the bench of queues sends them. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/actors/client/api.h"

namespace basalt::bench {

// Pod groups "queue-7-g-0", "queue-7-g-1" and so on are in the queue "queue-7".
std::string QueueName(int number);
std::string GroupName(std::string_view queue, int number);
std::string_view QueueOfGroup(std::string_view group);

actors::ApiRequest CreateQueue(const std::string& name, std::string_view parent);
// Those are Pending.
std::vector<actors::ApiRequest> CreateGroups(std::string_view queue, int count);
actors::ApiRequest SetPhase(const std::string& group, std::string_view phase);
// The changes number `from` to `from + count` of a queue with so many pod groups: each is Running in its turn, then
// each is Pending again.
std::vector<actors::ApiRequest> ChangePhases(std::string_view queue, int groups, int from, int count);
// `action` as queuesvc knows it.
actors::ApiRequest OperateQueue(const std::string& name, const std::string& uid, std::string_view action);

}  // namespace basalt::bench
