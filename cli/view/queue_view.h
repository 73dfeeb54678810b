#pragma once

// How queues and their history look to people.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/queue/v1/queue.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// "Open", …; "-" of a queue that has none yet.
std::string StateText(std::string_view state);
Colour QueueStateColour(std::string_view state);
// "2 pending, 1 inqueue, 3 running, 0 unknown, 4 completed".
std::string CountsText(const queue::v1::PodGroupCounts& counts);

// As people name it: "kai/<name>" for a queue of KAI's.
std::string QueueNameOf(const queue::v1::Queue& queue);
// Pod groups name the queue, which does not exist.
bool IsMissing(const queue::v1::Queue& queue);
// "cpu 2/8, memory 1Gi": what is allocated, of the most that the queue may take. Empty: neither is known.
std::string ResourcesText(const queue::v1::Queue& queue);

// Those of KAI's scheduler, if there are any, in a table of their own.
std::string FormatQueues(const queue::v1::ListQueuesResponse& queues, const Look& look = {});
// One queue with all that is known of it, and the newest entries of its history.
std::string FormatQueue(const queue::v1::Queue& queue, const queue::v1::QueueHistory& history, int64_t now_ms,
                        const Look& look = {});
std::string FormatKaiQueue(const queue::v1::KaiQueue& queue, const Look& look = {});
// One line for a change, for logs and pipes. Weight and parent are not in it.
std::string FormatQueueChange(const queue::v1::Queue& queue);
// The summary as a paragraph, then each cause with what can be done, and the pod groups that the queue holds.
std::string FormatQueueExplanation(const queue::v1::QueueExplanation& explanation, size_t width);
std::string FormatHistory(const queue::v1::QueueHistory& history, const Look& look = {});

}  // namespace basalt::cli
