#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
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
#include "common/reconcile/retry.h"
#include "common/runtime/events/object_events.h"
#include "common/runtime/watch/publisher.h"
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

// What a worker knows of one queue of its slots beside the queue itself, which may not be there.
struct QueueEntry {
  // The older one comes first. Times of Kubernetes are whole seconds: among those of one second the version tells.
  struct CommandAge {
    int64_t creation_ms = 0;
    int64_t resource_version = 0;  // As it was first seen.
    std::string uid;
    auto operator<=>(const CommandAge&) const = default;
  };

  struct HeldCommand {
    kube::v1::Command command;
    bool is_deleted = false;  // By us: its watch has not told yet.
  };

  PodGroupCounter pod_groups;
  std::map<CommandAge, HeldCommand> commands;

  // ---- what is being done ----
  QueueStep step;                              // Of the last pass.
  const kube::v1::Command* command = nullptr;  // That the step is about, until the pass is over.
  std::optional<absl::Time> held_until;        // The step.
  bool is_sent = false;  // In that pass: neither time nor a write that is under way holds it back.
  bool write_in_flight = false;
  std::string gone_uid;  // Of the last queue that has gone: an answer that comes late does not bring it back.
  Retry retry;
  Retry deletion_retry;  // Of Commands.
  absl::Time next_publish = absl::InfinitePast();

  // ---- what is recorded (store/queue_store.h) ----
  storage::v1::QueueRecord record;  // Without a UID: nothing is.
  history::EntryCount history_count;
  QueueAnswer answer;
  int64_t checked_version = 0;  // Of the queue whose spec was last held against the rules.

  std::unique_ptr<QueueSeries> series;  // Null: the queue is not there, or nobody measures.

  // ---- what its Events say ----
  std::vector<storage::v1::QueueHistoryRecord> to_tell;  // Of this pass.
  runtime::ObjectEvents events;

  // ---- what clients that watch were told, which is recorded, too ----
  runtime::Shown shown;
  std::string shown_uid;
  bool is_awaited = false;  // It was shown before the slot was opened, and was neither seen since nor is it gone.

  // A Command as it is now.
  void See(kube::v1::Command seen) {
    const kube::v1::ObjectMeta& meta = seen.meta();
    const auto known =
        std::find_if(commands.begin(), commands.end(), [&](const auto& held) { return held.first.uid == meta.uid(); });
    HeldCommand& held = known != commands.end()
                            ? known->second
                            : commands[CommandAge{meta.creation_ms(), meta.resource_version(), meta.uid()}];
    held.command = std::move(seen);
  }
  // The oldest Command that is to be carried out, or to be deleted now; null: there is none.
  const kube::v1::Command* NextCommand(absl::Time now) const {
    for (const auto& [age, held] : commands) {
      const bool waits = deletion_retry.Blocks(now) && QueueAccount::IsEnded(record, held.command);
      if (!held.is_deleted && !waits) return &held.command;
    }
    return nullptr;
  }
  // How many Commands have not come to an end.
  int64_t OpenCommands() const {
    return std::count_if(commands.begin(), commands.end(), [this](const auto& held) {
      return !held.second.is_deleted && !QueueAccount::IsEnded(record, held.second.command);
    });
  }
};

}  // namespace basalt::queuesvc
