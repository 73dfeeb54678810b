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

// How the last write of a queue ended, until a pass has recorded it.
struct QueueAnswer {
  std::string created_uid;  // It was made.
  bool accepted = false;
  std::optional<gateway::v1::KubeError> refused;  // In words that people are to read.
};

// What is tried again by itself: a parent or counts that are refused hold back nothing else.
enum class QueuePart : uint8_t { kState, kParent, kCounts, kCommand };

// kState: of the mark and of a queue that is made, too.
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

// What a worker knows of one queue of its slots beside the queue itself, which may not be there.
struct QueueEntry {
  PodGroupCounter pod_groups;
  HeldCommands commands;

  // ---- what is being done ----
  QueueStep step;                              // Of the last pass.
  const kube::v1::Command* command = nullptr;  // That the step is about, until the pass is over.
  int64_t command_tried_ms = 0;                // When a pass first looked at the command.
  std::optional<absl::Time> held_until;        // The step.
  bool is_sent = false;  // In that pass: neither time nor a write that is under way holds it back.
  bool write_in_flight = false;
  std::string gone_uid;          // Of the last queue that has gone: an answer that comes late does not bring it back.
  std::array<Retry, 4> retries;  // By part.
  std::optional<QueuePart> refused;  // Of the refusal that is recorded; nullopt: it is not known.
  OutdatedVersion outdated;          // Of the queue, which a write of its state or its parent named.
  absl::Time next_publish = absl::InfinitePast();

  // ---- what is recorded (store/queue_store.h) ----
  storage::v1::QueueRecord record;  // Without a UID: nothing is.
  history::EntryCount history_count;
  QueueAnswer answer;
  int64_t checked_version = 0;  // Of the queue whose spec was last held against the rules.
  std::string checked_circle;   // In which its parents were then.

  std::unique_ptr<QueueSeries> series;  // Null: the queue is not there, or nobody measures.

  // ---- what its Events say ----
  std::vector<storage::v1::QueueHistoryRecord> to_tell;  // Of this pass.
  runtime::ObjectEvents events;

  // ---- what clients that watch were told, which is recorded, too ----
  runtime::Shown shown;
  std::string shown_uid;
  bool is_awaited = false;  // It was shown before the slot was opened, and was neither seen since nor is it gone.

  // The next Command that a pass looks at; null: there is none.
  const kube::v1::Command* NextCommand(absl::Time now) const {
    return commands.Next(record, /*deletes=*/!RetryOf(QueuePart::kCommand).Blocks(now));
  }
  Retry& RetryOf(QueuePart part) { return retries[static_cast<size_t>(part)]; }
  const Retry& RetryOf(QueuePart part) const { return retries[static_cast<size_t>(part)]; }
  // Nothing is to be done, or the queue is gone: what failed before is needed no more.
  void ForgetFailures() {
    for (const QueuePart part : {QueuePart::kState, QueuePart::kParent, QueuePart::kCounts}) RetryOf(part) = Retry();
    refused.reset();
  }
};

}  // namespace basalt::queuesvc
