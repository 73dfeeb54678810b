#include "services/queuesvc/core/queue_event.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {
namespace {

using Entry = storage::v1::QueueHistoryRecord;

constexpr std::string_view kComponent = "basalt-queuesvc";
constexpr std::string_view kCommandRefused = "CommandRefused";
constexpr std::string_view kSpecWarning = "SpecWarning";

// Returns the action that leads to the state.
std::string_view ReasonOf(std::string_view to_state) {
  switch (ParseQueueState(to_state)) {
    case QueueState::kOpen:
      return kOpenQueue;
    case QueueState::kClosed:
    case QueueState::kClosing:
      return kCloseQueue;
    case QueueState::kEmpty:
    case QueueState::kUnknown:
    case QueueState::kInvalid:
      break;
  }
  return kSyncQueue;
}

std::string ChangeOf(const Entry& entry) {
  const std::string_view from = entry.from_state().empty() ? "-" : std::string_view(entry.from_state());
  return fmt::format("state {} -> {}: {}", from, entry.to_state(), entry.cause());
}

// A group whose pods are done keeps the queue from being Closed, too (weakness Q13).
std::string KeptBy(const queue::v1::PodGroupCounts& counts) {
  const int64_t others = int64_t{counts.pending()} + counts.inqueue() + counts.running() + counts.unknown();
  return fmt::format("; it is Closed once its pod groups are deleted: {} Completed, {} others", counts.completed(),
                     others);
}

}  // namespace

std::optional<kube::Event> EventOf(const Entry& entry, const kube::v1::ObjectMeta& queue) {
  kube::Event event{.api_version = kube::kSchedulingApiVersion,
                    .kind = kube::kQueues.name,
                    .name = queue.name(),
                    .uid = queue.uid(),
                    .resource_version = queue.resource_version(),
                    .component = kComponent};
  switch (entry.kind()) {
    case Entry::KIND_STATE_CHANGED:
      if (entry.from_state().empty() && ParseQueueState(entry.to_state()) == QueueState::kOpen) return std::nullopt;
      event.reason = ReasonOf(entry.to_state());
      event.message = ChangeOf(entry);
      if (ParseQueueState(entry.to_state()) == QueueState::kClosing) event.message += KeptBy(entry.counts());
      return event;
    case Entry::KIND_STATE_OBSERVED:
      if (ParseQueueState(entry.to_state()) != QueueState::kInvalid) return std::nullopt;
      event.warning = true;
      event.reason = kSyncQueue;
      event.message = fmt::format("'{}' in status.state is no state of a queue: nothing is done until it is mended",
                                  entry.to_state());
      return event;
    case Entry::KIND_REFUSED:
      event.warning = true;
      event.reason = ReasonOf(entry.from_state() == entry.to_state() ? "" : entry.to_state());
      event.message = fmt::format("the API server refuses what is to be written of the queue: {} {}: {}",
                                  entry.refusal().code(), entry.refusal().reason(), entry.refusal().message());
      return event;
    case Entry::KIND_SPEC_WARNING:
      event.warning = true;
      event.reason = kSpecWarning;
      event.message = entry.cause();
      return event;
    case Entry::KIND_COMMAND_REFUSED:
      event.warning = true;
      event.reason = kCommandRefused;
      event.message = entry.cause();
      return event;
    default:
      return std::nullopt;
  }
}

}  // namespace basalt::queuesvc
