#pragma once

// The records of queues: reads them when a slot opens, and adds the findings of a pass to its batch
// (core/queue_account.h). A record is written at the first pass of its queue and whenever it changes. Confined to the
// worker's loop.
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/history/retention.h"
#include "common/obs/metrics.h"
#include "services/queuesvc/control/queue_entry.h"
#include "services/queuesvc/store/queue_store.h"

namespace basalt::queuesvc {

class QueueRecords {
 public:
  // `store` and `metrics`, which may be null, outlive this object.
  QueueRecords(kv::KvStore& store, obs::Metrics* metrics, const history::Limits& limits)
      : store_(store), metrics_(metrics), history_(store, limits) {}

  using Visit = std::function<void(const std::string& name, storage::v1::QueueRecord record)>;
  // Drops records that cannot be read: such a queue starts anew, as on an empty disk.
  absl::Status Load(uint32_t slot, const Visit& visit);
  void Close(uint32_t slot) { history_.retention().Close(slot); }

  // Adds the findings of a pass over one queue to the batch. `queue` is null if there is none of that name. `circle` is
  // that of its parents (core/check_queue_spec.h).
  absl::Status Update(const std::string& name, const kube::v1::Queue* queue, const std::string& circle, absl::Time now,
                      QueueEntry& entry, kv::WriteBatch& batch);

  // Drops some of the slot's history of queues that are gone, at the slot's turn. `present` are the UIDs of queues that
  // exist.
  absl::Status Age(uint32_t slot, const std::set<std::string>& present, absl::Time now);
  history::Retention& retention() { return history_.retention(); }

  // Returns the queues that have had this name, oldest first.
  absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> QueuesOf(std::string_view name) const;
  // Returns the history entries of one queue.
  absl::StatusOr<std::vector<storage::v1::QueueHistoryRecord>> EntriesOf(std::string_view name, std::string_view uid);

 private:
  absl::Status End(const std::string& name, int64_t now_ms, QueueEntry& entry, kv::WriteBatch& batch);
  absl::Status PutEntry(const kube::v1::Queue& queue, const storage::v1::QueueHistoryRecord& added, QueueEntry& entry,
                        kv::WriteBatch& batch);

  kv::KvStore& store_;
  obs::Metrics* const metrics_;
  QueueHistories history_;
};

}  // namespace basalt::queuesvc
