#pragma once

// The state machine of a queue (queue spec 5). Pure.
#include <cstdint>
#include <string_view>

namespace basalt::queuesvc {

enum class QueueState { kEmpty, kOpen, kClosed, kClosing, kUnknown, kInvalid };
enum class QueueAction { kSync, kOpen, kClose };
inline constexpr std::string_view kOpenQueue = "OpenQueue";
inline constexpr std::string_view kCloseQueue = "CloseQueue";
inline constexpr std::string_view kSyncQueue = "SyncQueue";
enum class QueueOperation { kSync, kOpen, kClose };

QueueState ParseQueueState(std::string_view text);
std::string_view FormatQueueState(QueueState state);

// Whether the state is Closed or Closing: no job is admitted.
bool IsClosed(QueueState state);

// Returns kSync for every text but those of the other actions (queue spec 1.5).
QueueAction ParseQueueAction(std::string_view text);

struct QueueTransition {
  QueueOperation operation;
  QueueState next;
};

// Returns the cell of queue spec 5 for a queue in `state` that holds `pod_groups`. Requires: state is not kInvalid.
QueueTransition NextState(QueueState state, QueueAction action, int64_t pod_groups);

}  // namespace basalt::queuesvc
