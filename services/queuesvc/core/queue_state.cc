#include "services/queuesvc/core/queue_state.h"

#include "common/base/json.h"
#include "common/kube/names.h"

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

PodGroupCounter::Phase PodGroupCounter::ParsePhase(std::string_view text) {
  if (text == "Pending") return Phase::kPending;
  if (text == "Inqueue") return Phase::kInqueue;
  if (text == "Running") return Phase::kRunning;
  if (text == "Unknown") return Phase::kUnknown;
  if (text == "Completed") return Phase::kCompleted;
  return Phase::kOther;
}

void PodGroupCounter::Count(Phase phase, int delta) {
  switch (phase) {
    case Phase::kPending:
      counts_.set_pending(counts_.pending() + delta);
      return;
    case Phase::kInqueue:
      counts_.set_inqueue(counts_.inqueue() + delta);
      return;
    case Phase::kRunning:
      counts_.set_running(counts_.running() + delta);
      return;
    case Phase::kUnknown:
      counts_.set_unknown(counts_.unknown() + delta);
      return;
    case Phase::kCompleted:
      counts_.set_completed(counts_.completed() + delta);
      return;
    case Phase::kOther:  // Indexed, so that it keeps a queue from closing, but not counted (queue spec 6.1-3).
      return;
  }
}

bool PodGroupCounter::Set(const std::string& uid, std::string_view text) {
  const Phase phase = ParsePhase(text);
  const auto [entry, added] = phases_.try_emplace(uid, phase);
  if (!added) {
    if (entry->second == phase) return false;
    Count(entry->second, -1);
    entry->second = phase;
  }
  Count(phase, 1);
  return true;
}

bool PodGroupCounter::Erase(const std::string& uid) {
  const auto entry = phases_.find(uid);
  if (entry == phases_.end()) return false;
  Count(entry->second, -1);
  phases_.erase(entry);
  return true;
}

std::string StatusApplyBody(std::string_view queue, QueueState state, const queue::v1::PodGroupCounts* counts) {
  json::object status;
  const std::string_view text = FormatQueueState(state);
  status["state"] = json::string(text);
  if (counts != nullptr) {
    status["pending"] = counts->pending();
    status["inqueue"] = counts->inqueue();
    status["running"] = counts->running();
    status["unknown"] = counts->unknown();
    status["completed"] = counts->completed();
  }
  json::object body;
  body["apiVersion"] = json::string(kube::kSchedulingApiVersion.data(), kube::kSchedulingApiVersion.size());
  body["kind"] = "Queue";
  body["metadata"] = json::object{{"name", json::string(queue)}};
  body["status"] = std::move(status);
  return ToText(body);
}

bool StatusDiffers(const kube::v1::Queue& queue, QueueState state, const queue::v1::PodGroupCounts* counts) {
  if (queue.state() != FormatQueueState(state)) return true;
  if (counts == nullptr) return false;
  return queue.pending() != counts->pending() || queue.inqueue() != counts->inqueue() ||
         queue.running() != counts->running() || queue.unknown() != counts->unknown() ||
         queue.completed() != counts->completed();
}

}  // namespace basalt::queuesvc
