#pragma once

// The state machine of a queue (queue spec 5). Pure.
#include <cstdint>
#include <string_view>

namespace basalt::queuesvc {

enum class QueueState { kEmpty, kOpen, kClosed, kClosing, kUnknown, kInvalid };
enum class QueueAction { kSync, kOpen, kClose };
enum class QueueOperation { kSync, kOpen, kClose };

QueueState ParseQueueState(std::string_view text);
std::string_view FormatQueueState(QueueState state);

struct QueueTransition {
  QueueOperation operation;
  QueueState next;
};

// The cell of queue spec 5 for a queue in `state` that holds `pod_groups`. Requires: state is not kInvalid.
QueueTransition NextState(QueueState state, QueueAction action, int64_t pod_groups);

}  // namespace basalt::queuesvc
