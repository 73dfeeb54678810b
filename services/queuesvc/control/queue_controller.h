#pragma once

// The queue controller: one per worker, confined to the worker's loop. The key is the queue's name.
//
// It keeps nothing in the store: queues are broadcast, pod groups come routed by spec.queue, and both together give
// state and counts at every start. root and default are made where they are missing (queue spec 2.1).
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/queuesvc/control/queue_entry.h"
#include "services/queuesvc/control/queue_metrics.h"
#include "services/queuesvc/core/next_step.h"

namespace basalt::queuesvc {

struct QueueControllerOptions {
  bool publish_counts = true;  // Counts in status, at most one write a second per queue.
  absl::Duration publish_interval = absl::Seconds(1);
  bool create_default_queues = true;
};

class QueueController : public runtime::Controller {
 public:
  // `context` and `metrics` (may be null) outlive the controller.
  QueueController(runtime::Context& context, obs::Metrics* metrics, QueueControllerOptions options);

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  // ---- for api/; on the loop ----
  bool IsReady(uint32_t slot) const { return context_.IsReady(slot); }
  // The queues of the slots that this worker owns.
  std::vector<queue::v1::Queue> List() const;
  // One of them; nullopt: there is none.
  std::optional<queue::v1::Queue> Find(std::string_view name) const;
  // How many queues of its slots the worker remembers something of, whether they exist or not.
  size_t kept() const { return entries_.size(); }

 private:
  // The runtime drops keys and states of slots that have closed: no entry is made in one of those.
  bool Owns(std::string_view name) const { return entries_.IsOpen(SlotOf(name)); }
  // Whether root or the default queue, which are made, is meant.
  bool IsMade(std::string_view name) const;
  QueueStep NextStepOf(std::string_view name, const QueueEntry& entry) const;
  queue::v1::Queue MessageOf(std::string_view name, const kube::v1::Queue& queue) const;

  // -- queue_writes.cc --
  void Carry(const std::string& name, QueueEntry& entry, const QueueStep& step);
  void Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request);
  void OnWritten(QueueEntry& entry, const std::string& name, const runtime::WriteOutcome& outcome);

  runtime::Context& context_;
  QueueMetrics metrics_;
  const QueueControllerOptions options_;
  SlotMap<kube::v1::Queue> queues_;  // All of the cluster.
  SlotMap<QueueEntry> entries_;      // Of owned slots.
};

}  // namespace basalt::queuesvc
