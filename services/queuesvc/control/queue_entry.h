#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "common/history/entries.h"
#include "common/reconcile/effect.h"
#include "common/reconcile/retry.h"
#include "common/runtime/events/object_events.h"
#include "common/runtime/watch/publisher.h"
#include "services/queuesvc/control/held_commands.h"
#include "services/queuesvc/control/queue_metrics.h"
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/pod_group_counter.h"
#include "services/queuesvc/core/queue_account.h"

namespace basalt::queuesvc {

// The outcome of the last write to a queue, until a pass has recorded it.
struct QueueAnswer {
  std::string created_uid;  // Set if the write created the queue.
  bool accepted = false;
  std::optional<gateway::v1::KubeError> refused;  // An error whose message is for people.
};

// The parts of a queue whose writes are tried again independently: a refused parent or refused counts hold up nothing
// else.
enum class QueuePart : uint8_t { kState, kParent, kCounts, kCommand };

// kState includes the mark and the creation of a queue.
inline QueuePart PartOf(QueueStep::Kind kind) {
  switch (kind) {
    case QueueStep::Kind::kEndCommand:
      return QueuePart::kCommand;
    case QueueStep::Kind::kSetParent:
      return QueuePart::kParent;
    case QueueStep::Kind::kApplyCounts:
      return QueuePart::kCounts;
    case QueueStep::Kind::kNothing:
    case QueueStep::Kind::kInvalid:
    case QueueStep::Kind::kCreate:
    case QueueStep::Kind::kApplyState:
    case QueueStep::Kind::kSetClosedByParent:
      break;
  }
  return QueuePart::kState;
}

// The worker's state of one queue in its slots, beside the queue itself, which may not exist.
struct QueueEntry {
  PodGroupCounter pod_groups;
  HeldCommands commands;

  // ---- the step ----
  QueueStep step;                              // The step of the last pass.
  const kube::v1::Command* command = nullptr;  // The Command of `step`, until the pass is over.
  int64_t command_tried_ms = 0;                // When a pass first considered `command`.
  std::optional<absl::Time> held_until;        // When `step` may be sent; nullopt if at once.
  // This pass sends `step`: it is due, no write is in flight, and the queue is not outdated.
  bool is_sent = false;
  bool write_in_flight = false;
  std::string gone_uid;          // UID of the last queue that has gone: a late answer must not bring that queue back.
  std::array<Retry, 4> retries;  // Indexed by QueuePart.
  std::optional<QueuePart> refused;  // The part of the recorded refusal; nullopt if it is not known.
  OutdatedVersion outdated;  // The version that a write of the state or the parent named, if the queue has another.
  absl::Time next_publish = absl::InfinitePast();

  // ---- what is recorded (store/queue_store.h) ----
  storage::v1::QueueRecord record;  // The UID is empty if nothing is recorded.
  history::EntryCount history_count;
  QueueAnswer answer;
  int64_t checked_version = 0;  // The version of the queue at the last check of its spec.
  std::string checked_circle;   // The circle of its parents at that check.

  std::unique_ptr<QueueSeries> series;  // Null if the queue does not exist or metrics are off.

  // ---- Events ----
  std::vector<storage::v1::QueueHistoryRecord> new_entries;  // The history entries of this pass.
  runtime::ObjectEvents events;

  // ---- the state that watching clients know, which is recorded, too ----
  runtime::Shown shown;
  std::string shown_uid;
  // The queue was published before the slot was opened, and neither the queue nor its end was observed since.
  bool is_awaited = false;

  // Returns the next Command for a pass; null if there is none.
  const kube::v1::Command* NextCommand(absl::Time now) const {
    return commands.Next(record, /*deletes=*/!RetryOf(QueuePart::kCommand).Blocks(now));
  }
  Retry& RetryOf(QueuePart part) { return retries[static_cast<size_t>(part)]; }
  const Retry& RetryOf(QueuePart part) const { return retries[static_cast<size_t>(part)]; }
  // Nothing is to be done, or the queue is gone: earlier failures do not matter any more.
  void ForgetFailures() {
    for (const QueuePart part : {QueuePart::kState, QueuePart::kParent, QueuePart::kCounts}) RetryOf(part) = Retry();
    refused.reset();
  }
};

}  // namespace basalt::queuesvc
