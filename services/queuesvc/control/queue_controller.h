#pragma once

// The queue controller: one per worker, confined to the worker's loop. The key is the queue's name.
//
// What it does follows from what is there: queues are broadcast, pod groups come routed by spec.queue and Commands by
// their target, and together they give state and counts at every start. The store remembers for people what was
// decided, and which Commands have ended; a lost disk costs that alone. root and default are made where they are
// missing (queue spec 2.1).
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
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/queue_children.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

struct QueueControllerOptions {
  bool publish_counts = true;  // Counts in status, at most one write a second per queue.
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
  // All of the cluster, whoever owns them.
  const SlotMap<kube::v1::Queue>& queues() const { return queues_; }
  const QueueChildren& children() const { return children_; }
  const KaiQueues& kai_queues() const { return kai_queues_; }
  // A queue of a slot that this worker owns, of either scheduler; nullopt: there is none.
  std::optional<queue::v1::Queue> Find(std::string_view name) const;
  // Finds a queue as Find does, and one that does not exist and that pod groups name: with name and counts alone.
  std::optional<queue::v1::Queue> FindNamed(std::string_view name) const;
  // The entries of queues of its slots, by the queue's name; a queue that pod groups or history name need not exist.
  const SlotMap<QueueEntry>& named() const { return entries_; }
  // Why the queue that Find tells of is where it is.
  absl::StatusOr<queue::v1::QueueExplanation> Explain(std::string_view name);
  // Those that Find tells of are seen.
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit);
  // What is wrong with a queue, which is there or is to be made, among the others.
  QueueProblem HoldAgainstOthers(const kube::v1::Queue& queue) const;
  // What is recorded of the queue; null: nothing is.
  const storage::v1::QueueRecord* RecordOf(std::string_view name) const;
  QueueRecords& records() { return records_; }
  runtime::Publisher& publisher() { return publisher_; }
  // How many queues of its slots the worker remembers something of, whether they exist or not.
  size_t kept() const { return entries_.size(); }

 private:
  // The runtime drops keys and states of slots that have closed: no entry is made in one of those.
  bool Owns(std::string_view name) const { return entries_.IsOpen(SlotOf(name)); }
  // Whether root or the default queue, which are made, is meant.
  bool IsMade(std::string_view name) const;
  QueueStep NextStepOf(std::string_view name, const QueueEntry& entry) const;
  // Null: there is none, or the queue is root or below itself.
  const kube::v1::Queue* ParentOf(const kube::v1::Queue& queue) const;
  // As CircleText has it; empty: the queue is in none.
  std::string CircleOf(const kube::v1::Queue& queue) const;
  // -- queue_explanation.cc --
  // As of ExplainFacts.
  std::vector<std::string> ToOpen(const kube::v1::Queue& queue) const;
  // Null: the queue of that UID is gone.
  runtime::ObjectEvents* EventsOf(const std::string& name, const std::string& uid);
  // Those that are owned: what is above them has changed.
  void WakeChildren(std::string_view name);
  // The same of all that are further below: a queue that moves, comes or goes may close or open a circle, in which
  // nobody has a parent.
  void WakeAllBelow(std::string_view name);
  queue::v1::Queue MessageOf(std::string_view name, const kube::v1::Queue& queue) const;

  // Until when the step of the entry has to wait; nullopt: it need not.
  std::optional<absl::Time> HeldUntil(const QueueEntry& entry) const;
  // Whether the step names a version of the queue that another one has taken the place of: the newer one is waited for.
  bool IsOutdated(std::string_view name, const QueueEntry& entry) const;

  // -- age_history.cc --
  void AgeHistoryLater();
  void AgeHistory(uint32_t slot, const std::set<std::string>& keys);

  // -- shown_queues.cc --
  // The queues that were shown and are not seen, which may have gone since.
  absl::StatusOr<std::vector<runtime::KnownObject>> LoadShown(uint32_t slot);
  void PublishState(const std::string& name, QueueEntry& entry, kv::WriteBatch& batch);

  // -- queue_writes.cc --
  void SendStep(const std::string& name, QueueEntry& entry);
  void Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request);
  // The Command of that UID was to be deleted.
  void OnCommandDeleted(const std::string& name, QueueEntry& entry, const std::string& uid,
                        const runtime::WriteOutcome& outcome);
  // `counts`: as they were when the step was sent.
  void OnWritten(const std::string& name, QueueEntry& entry, const QueueStep& sent,
                 const queue::v1::PodGroupCounts& counts, runtime::WriteOutcome outcome);
  // The write of the step named that version, and met another one, which is read.
  void OnOutdated(const std::string& name, QueueEntry& entry, QueueStep::Kind sent, int64_t version);
  void OnRead(const std::string& name, QueueStep::Kind sent, int64_t version,
              const absl::StatusOr<gateway::v1::GetResponse>& answer);
  void TryAgain(const std::string& name, Retry& retry);

  runtime::Context& context_;
  obs::Metrics* const metrics_;
  const QueueControllerOptions options_;
  QueueRecords records_;
  runtime::EventRecorder recorder_;
  runtime::Publisher publisher_;
  TimerId history_timer_ = kNoTimer;
  SlotMap<kube::v1::Queue> queues_;  // All of the cluster.
  QueueChildren children_;           // The same.
  SlotMap<QueueEntry> entries_;      // Of owned slots.
  KaiQueues kai_queues_;             // The same.
};

}  // namespace basalt::queuesvc
