#pragma once

// Queues and their history, formatted for people.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/queue/v1/queue.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// Returns the state, or "-" if the queue has none yet.
std::string StateText(std::string_view state);
Colour QueueStateColour(std::string_view state);
// Returns a text like "2 pending, 1 inqueue, 3 running, 0 unknown, 4 completed".
std::string CountsText(const queue::v1::PodGroupCounts& counts);

// Returns the name by which people name the queue: "kai/<name>" for a queue of KAI's.
std::string QueueNameOf(const queue::v1::Queue& queue);
// Returns whether pod groups name the queue although it does not exist.
bool IsMissing(const queue::v1::Queue& queue);
// Returns a text like "cpu 2/8, memory 1Gi": the allocated amounts, and the limits of the queue. Empty if neither is
// known.
std::string ResourcesText(const queue::v1::Queue& queue);

// Returns a table of the queues. Queues of KAI's scheduler, if there are any, have a table of their own.
std::string FormatQueues(const queue::v1::ListQueuesResponse& queues, const Look& look = {});
// Returns one queue with all its details, and the newest entries of its history.
std::string FormatQueue(const queue::v1::Queue& queue, const queue::v1::QueueHistory& history, int64_t now_ms,
                        const Look& look = {});
std::string FormatKaiQueue(const queue::v1::KaiQueue& queue, const Look& look = {});
// Returns one line for a change, for logs and pipes, without weight and parent.
std::string FormatQueueChange(const queue::v1::Queue& queue);
// Returns the summary as a paragraph, then each cause with advice, and the pod groups of the queue.
std::string FormatQueueExplanation(const queue::v1::QueueExplanation& explanation, size_t width);
std::string FormatHistory(const queue::v1::QueueHistory& history, const Look& look = {});

}  // namespace basalt::cli
