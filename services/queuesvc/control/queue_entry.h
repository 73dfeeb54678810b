#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "common/history/entries.h"
#include "common/reconcile/retry.h"
#include "common/runtime/watch/publisher.h"
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/pod_group_counter.h"

namespace basalt::queuesvc {

// How the last write of a queue ended, until a pass has recorded it.
struct QueueAnswer {
  std::string created_uid;  // It was made.
  bool accepted = false;
  std::optional<gateway::v1::KubeError> refused;  // In words that people are to read.
};

// What a worker knows of one queue of its slots beside the queue itself, which may not be there.
struct QueueEntry {
  PodGroupCounter pod_groups;

  // ---- what is being done ----
  QueueStep step;                        // Of the last pass.
  std::optional<absl::Time> held_until;  // The step.
  bool is_sent = false;                  // In that pass: neither time nor a write that is under way holds it back.
  bool write_in_flight = false;
  std::string gone_uid;  // Of the last queue that has gone: an answer that comes late does not bring it back.
  Retry retry;
  absl::Time next_publish = absl::InfinitePast();

  // ---- what is recorded (store/queue_store.h) ----
  storage::v1::QueueRecord record;  // Without a UID: nothing is.
  history::EntryCount history_count;
  QueueAnswer answer;

  // ---- what clients that watch were told, which is recorded, too ----
  runtime::Shown shown;
  std::string shown_uid;
  bool is_awaited = false;  // It was shown before the slot was opened, and was neither seen since nor is it gone.
};

}  // namespace basalt::queuesvc
