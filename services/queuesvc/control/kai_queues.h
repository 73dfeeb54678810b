#pragma once

// Queues of KAI's scheduler and the pod groups that name them, of owned slots: what is told of them, and nothing that
// is written. By kube::KaiQueueKey. Confined to the worker's loop.
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
    std::optional<kube::v1::KaiQueue> queue;        // There may be groups alone.
    std::set<std::string, std::less<>> group_uids;  // Of those that name it.
    std::unique_ptr<KaiQueueSeries> series;
  };

  // May be null, and outlives it.
  explicit KaiQueues(obs::Metrics* metrics) : metrics_(metrics) {}

  void Open(uint32_t slot) { entries_.Open(slot); }
  void Close(uint32_t slot) { entries_.Close(slot); }
  // Requires: a queue or a pod group of KAI's, of an open slot.
  void See(std::string_view key, kube::v1::Object&& object);
  // A queue or a pod group of that UID.
  void Forget(std::string_view key, std::string_view uid);

  const SlotMap<Entry>& entries() const { return entries_; }
  // nullopt: there is neither a queue of that key nor a group that names it.
  std::optional<queue::v1::Queue> Find(std::string_view key) const;

 private:
  obs::Metrics* const metrics_;
  SlotMap<Entry> entries_;
};

}  // namespace basalt::queuesvc
