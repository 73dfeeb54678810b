#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {
namespace {

QueueState ClosedOrClosing(int64_t pod_groups) { return pod_groups == 0 ? QueueState::kClosed : QueueState::kClosing; }

}  // namespace

QueueState ParseQueueState(std::string_view text) {
  if (text.empty()) return QueueState::kEmpty;
  if (text == "Open") return QueueState::kOpen;
  if (text == "Closed") return QueueState::kClosed;
  if (text == "Closing") return QueueState::kClosing;
  if (text == "Unknown") return QueueState::kUnknown;
  return QueueState::kInvalid;
}

std::string_view FormatQueueState(QueueState state) {
  switch (state) {
    case QueueState::kOpen:
      return "Open";
    case QueueState::kClosed:
      return "Closed";
    case QueueState::kClosing:
      return "Closing";
    case QueueState::kUnknown:
      return "Unknown";
    case QueueState::kEmpty:
    case QueueState::kInvalid:
      break;
  }
  return "";
}

bool IsClosed(QueueState state) { return state == QueueState::kClosed || state == QueueState::kClosing; }

QueueAction ParseQueueAction(std::string_view text) {
  if (text == kOpenQueue) return QueueAction::kOpen;
  return text == kCloseQueue ? QueueAction::kClose : QueueAction::kSync;
}

QueueTransition NextState(QueueState state, QueueAction action, int64_t pod_groups) {
  const bool open = state == QueueState::kOpen || state == QueueState::kEmpty;
  switch (action) {
    case QueueAction::kOpen:
      return {open ? QueueOperation::kSync : QueueOperation::kOpen, QueueState::kOpen};
    case QueueAction::kClose:
      if (state == QueueState::kClosed) return {QueueOperation::kSync, QueueState::kClosed};
      return {state == QueueState::kClosing ? QueueOperation::kSync : QueueOperation::kClose,
              ClosedOrClosing(pod_groups)};
    case QueueAction::kSync:
      break;
  }
  if (open) return {QueueOperation::kSync, QueueState::kOpen};
  if (state == QueueState::kClosing) return {QueueOperation::kSync, ClosedOrClosing(pod_groups)};
  return {QueueOperation::kSync, state};
}

}  // namespace basalt::queuesvc
