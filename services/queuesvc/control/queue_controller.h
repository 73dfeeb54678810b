#pragma once

// The queue controller: one per worker, confined to the worker's loop. The key is the queue's name.
//
// The controller acts on what it observes: queues are broadcast, pod groups are routed by spec.queue and Commands by
// their target, and together they give state and counts at every start. The store keeps, for people, what was decided,
// and which Commands have ended; only that is lost with a disk. root and default are created if they are missing
// (queue spec 2.1).
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "common/runtime/watch/publisher.h"
#include "services/queuesvc/control/kai_queues.h"
#include "services/queuesvc/control/queue_entry.h"
#include "services/queuesvc/control/queue_records.h"
#include "services/queuesvc/control/queue_tree.h"
#include "services/queuesvc/control/queue_writes.h"
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

struct QueueControllerOptions {
  bool publish_counts = true;  // In status; at most one write per `publish_interval` and queue.
  absl::Duration publish_interval = absl::Seconds(1);
  bool create_default_queues = true;
  history::Limits history_limits;
};

class QueueController : public runtime::Controller {
 public:
  // `context` and `metrics` (may be null) outlive the controller.
  QueueController(runtime::Context& context, obs::Metrics* metrics, QueueControllerOptions options);
  ~QueueController() override;

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  // ---- for api/; on the loop ----
  runtime::Context& context() { return context_; }
  // All queues of the cluster, whoever owns them.
  const SlotMap<kube::v1::Queue>& queues() const { return tree_.queues(); }
  const QueueChildren& children() const { return tree_.children(); }
  const KaiQueues& kai_queues() const { return kai_queues_; }
  // Returns a queue, of either scheduler, in a slot that this worker owns; nullopt if there is none.
  std::optional<queue::v1::Queue> Find(std::string_view name) const;
  // Finds a queue as Find() does, and also one that pod groups name but that does not exist: with name and counts
  // alone.
  std::optional<queue::v1::Queue> FindNamed(std::string_view name) const;
  // Entries by the queue's name, in owned slots. A queue that only pod groups or records name need not exist.
  const SlotMap<QueueEntry>& named() const { return entries_; }
  // Explains the state of a queue. Requires: Find() returns it, and it is not one of KAI's.
  absl::StatusOr<queue::v1::QueueExplanation> Explain(std::string_view name);
  // Calls `visit` for each queue of Volcano's in the slot; `is_seen` is false for one that was published before the
  // slot was opened, if neither the queue nor its end was observed since.
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit);
  // Returns what is wrong with a new or existing queue among the others.
  QueueProblem HoldAgainstOthers(const kube::v1::Queue& queue) const;
  // Returns null if nothing is recorded of the queue.
  const storage::v1::QueueRecord* RecordOf(std::string_view name) const;
  QueueRecords& records() { return records_; }
  runtime::Publisher& publisher() { return publisher_; }
  // The number of queues in owned slots of which the worker keeps anything, whether they exist or not.
  size_t kept() const { return entries_.size(); }

 private:
  // Whether the queue's slot is open. No entry is made in a closed slot, of which the runtime drops keys and states.
  bool Owns(std::string_view name) const { return entries_.IsOpen(SlotOf(name)); }
  // Whether the queue is root or default, and is created if it is missing.
  bool IsMade(std::string_view name) const;
  QueueStep NextStepOf(std::string_view name, const QueueEntry& entry) const;
  // -- queue_explanation.cc --
  // Returns ExplainFacts::to_open.
  std::vector<std::string> ToOpen(const kube::v1::Queue& queue) const;
  // Returns null if the queue of that UID is gone.
  runtime::ObjectEvents* EventsOf(const std::string& name, const std::string& uid);
  // Wakes the owned children of a queue that has changed.
  void WakeChildren(std::string_view name);
  // Wakes all owned queues below. A queue that moves, comes or goes may close or open a circle, in which no queue has a
  // parent.
  void WakeAllBelow(std::string_view name);
  queue::v1::Queue MessageOf(std::string_view name, const kube::v1::Queue& queue) const;

  // Returns until when the step of the entry must wait; nullopt if it need not.
  std::optional<absl::Time> HeldUntil(const QueueEntry& entry) const;
  // Whether the step names an outdated version of the queue: the step waits until the newer one is observed.
  bool IsOutdated(std::string_view name, const QueueEntry& entry) const;

  // -- age_history.cc --
  void AgeHistoryLater();
  void AgeHistory(uint32_t slot, const std::set<std::string>& keys);

  // -- shown_queues.cc --
  // Returns the queues that were published and are not observed, which may have gone since.
  absl::StatusOr<std::vector<runtime::KnownObject>> LoadShown(uint32_t slot);
  void PublishState(const std::string& name, QueueEntry& entry, kv::WriteBatch& batch);

  runtime::Context& context_;
  obs::Metrics* const metrics_;
  const QueueControllerOptions options_;
  QueueRecords records_;
  runtime::EventRecorder recorder_;
  runtime::Publisher publisher_;
  TimerId history_timer_ = kNoTimer;
  QueueTree tree_;
  SlotMap<QueueEntry> entries_;  // In owned slots.
  KaiQueues kai_queues_;         // In owned slots.
  QueueWrites writes_;
};

}  // namespace basalt::queuesvc
