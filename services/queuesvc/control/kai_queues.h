#pragma once

// Queues of KAI's scheduler, and the pod groups that name them, in owned slots. They are published and never written.
// Keyed by kube::KaiQueueKey. Confined to the worker's loop.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "common/reconcile/slot_map.h"
#include "services/queuesvc/control/queue_metrics.h"

namespace basalt::queuesvc {

class KaiQueues {
 public:
  struct Entry {
    std::optional<kube::v1::KaiQueue> queue;        // Nullopt if only pod groups name it.
    std::set<std::string, std::less<>> group_uids;  // UIDs of the pod groups that name it.
    std::unique_ptr<KaiQueueSeries> series;
  };

  // `metrics` may be null, and outlives this object.
  explicit KaiQueues(obs::Metrics* metrics) : metrics_(metrics) {}

  void Open(uint32_t slot) { entries_.Open(slot); }
  void Close(uint32_t slot) { entries_.Close(slot); }
  // Requires: `object` is a queue or a pod group of KAI's, in an open slot.
  void See(std::string_view key, kube::v1::Object&& object);
  // Forgets the queue or pod group of that UID.
  void Forget(std::string_view key, std::string_view uid);

  const SlotMap<Entry>& entries() const { return entries_; }
  // Returns nullopt if there is neither a queue of that key nor a group that names it.
  std::optional<queue::v1::Queue> Find(std::string_view key) const;

 private:
  obs::Metrics* const metrics_;
  SlotMap<Entry> entries_;
};

}  // namespace basalt::queuesvc
