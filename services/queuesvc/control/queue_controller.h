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

 private:
  struct Entry {
    PodGroupCounter pod_groups;
    bool write_in_flight = false;
    int failures = 0;
    absl::Time not_before = absl::InfinitePast();
  };

  bool Owns(std::string_view name) const { return slots_.count(SlotOfQueue(name)) > 0; }
  static uint32_t SlotOfQueue(std::string_view name);
  void CreateQueue(const std::string& name, Entry& entry);
  void SetParent(const kube::v1::Queue& queue, Entry& entry);
  void Publish(const kube::v1::Queue& queue, Entry& entry);
  void Send(const std::string& name, gateway::v1::WriteRequest request);
  void ShowMetrics(const std::string& name, const queue::v1::PodGroupCounts& counts);
  void RemoveMetrics(const std::string& name);

  runtime::Context& context_;
  obs::Metrics* const metrics_;
  const QueueControllerOptions options_;
  std::map<uint32_t, bool> slots_;
  std::map<std::string, kube::v1::Queue, std::less<>> queues_;  // All of the cluster.
  std::map<std::string, Entry, std::less<>> entries_;           // Of owned slots.
};

}  // namespace basalt::queuesvc
