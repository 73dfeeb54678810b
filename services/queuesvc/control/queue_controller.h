#pragma once

// The queue controller: one per worker, confined to the worker's loop. The key is the queue's name.
//
// It keeps nothing in the store: queues are broadcast, pod groups come routed by spec.queue, and both together give
// state and counts at every start. root and default are made where they are missing (queue spec 2.1).
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/obs/metrics.h"
#include "common/reconcile/retry.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/queuesvc/core/queue_state.h"

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

  // For the API: whether everything of the slot is known; and the queues of the slots that this worker owns.
  bool IsReady(uint32_t slot) const { return context_.IsReady(slot); }
  std::vector<queue::v1::Queue> List() const;
  // How many queues of its slots the worker remembers something of, whether they exist or not.
  size_t kept() const { return entries_.size(); }

 private:
  struct Entry {
    PodGroupCounter pod_groups;
    bool write_in_flight = false;
    Retry retry;
    absl::Time next_publish = absl::InfinitePast();
  };

  // The runtime drops keys and states of slots that have closed: no entry is made in one of those.
  bool Owns(std::string_view name) const { return entries_.IsOpen(SlotOf(name)); }
  void CreateQueue(const std::string& name, Entry& entry);
  void SetParent(const kube::v1::Queue& queue, Entry& entry);
  void Publish(const kube::v1::Queue& queue, Entry& entry);
  void Send(const std::string& name, Entry& entry, gateway::v1::WriteRequest request);
  void ShowMetrics(const std::string& name, const queue::v1::PodGroupCounts& counts);
  void RemoveMetrics(const std::string& name);

  runtime::Context& context_;
  obs::Metrics* const metrics_;
  const QueueControllerOptions options_;
  std::map<std::string, kube::v1::Queue, std::less<>> queues_;  // All of the cluster.
  SlotMap<Entry> entries_;                                      // Of owned slots.
};

}  // namespace basalt::queuesvc
