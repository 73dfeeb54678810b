#pragma once

// Sends the next step of a queue as one write, and handles its answer. Each queue has at most one write under way. An
// answer is dropped if the queue's entry has gone meanwhile. Confined to the worker's loop.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/queuesvc/control/queue_entry.h"
#include "services/queuesvc/control/queue_tree.h"

namespace basalt::queuesvc {

class QueueWrites {
 public:
  // All references outlive this object. Status is written at most once per `publish_interval` and queue.
  QueueWrites(runtime::Context& context, const QueueTree& tree, const SlotMap<QueueEntry>& entries,
              absl::Duration publish_interval)
      : context_(context), tree_(tree), entries_(entries), publish_interval_(publish_interval) {}

  // Sends QueueEntry::step. Requires that nothing was observed since the pass decided, and that no write is under way.
  void Send(const std::string& name, QueueEntry& entry);

 private:
  void Start(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request);
  // Handles the answer to the deletion of the Command of that UID.
  void OnCommandDeleted(const std::string& name, QueueEntry& entry, const std::string& uid,
                        const runtime::WriteOutcome& outcome);
  // `counts` are those of the moment at which the step was sent.
  void OnWritten(const std::string& name, QueueEntry& entry, const QueueStep& sent,
                 const queue::v1::PodGroupCounts& counts, runtime::WriteOutcome outcome);
  // The write of the step named `version`, and the queue has another one: reads the queue.
  void OnOutdated(const std::string& name, QueueEntry& entry, QueueStep::Kind sent, int64_t version);
  void OnRead(const std::string& name, QueueStep::Kind sent, int64_t version,
              const absl::StatusOr<gateway::v1::GetResponse>& answer);
  void TryAgain(const std::string& name, Retry& retry);

  runtime::Context& context_;
  const QueueTree& tree_;
  const SlotMap<QueueEntry>& entries_;
  const absl::Duration publish_interval_;
};

}  // namespace basalt::queuesvc
