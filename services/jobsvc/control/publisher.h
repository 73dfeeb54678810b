#pragma once

// What people see of the jobs of one controller: when it changed, in which order, and who hears of it. A change is
// recorded in the batch of its pass, and told once that is durable. On the controller's loop.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/kv/kv_store.h"
#include "common/watch/revision_log.h"
#include "common/watch/watch_position.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;

// What people see of a job has changed, and is recorded; or the slot is not ours any more.
struct ShownChange {
  enum class Kind {
    kShown,
    kGone,
    kUnseen,  // It has gone before it was ever shown.
    kClosed
  };
  Kind kind;
  uint32_t slot = 0;
  watch::WatchPosition position;
  std::string key;                  // Not of kClosed.
  std::string uid;                  // Of kGone.
  const JobEntry* entry = nullptr;  // Of kShown.
};

class Publisher {
 public:
  using Listener = std::function<void(const ShownChange& change)>;
  using Lookup = std::function<const JobEntry*(const std::string& key)>;

  // `random` outlives it; `lookup` finds the entry of a change.
  Publisher(Random& random, Lookup lookup) : random_(random), lookup_(std::move(lookup)) {}

  void SetListener(Listener listener) { listener_ = std::move(listener); }
  void Open(uint32_t slot, watch::RevisionLog log) { logs_.insert_or_assign(slot, std::move(log)); }
  // The slot is not ours any more: that is told at once, and what was not told yet never is.
  void Close(uint32_t slot);
  // The revisions of before are worth nothing.
  void BeginAnew(uint32_t slot) { logs_.at(slot).BeginAnew(); }
  // Null while the slot is not open here.
  const watch::RevisionLog* LogOf(uint32_t slot) const;

  void PublishIfChanged(JobEntry& entry, const GroupView& group, const QueueView& queue, kv::WriteBatch& batch);
  // The job is gone.
  void PublishEnd(JobEntry& entry, kv::WriteBatch& batch);
  // The batch is durable.
  void Tell();

 private:
  Random& random_;
  const Lookup lookup_;
  Listener listener_;
  std::map<uint32_t, watch::RevisionLog> logs_;  // Of the open slots.
  std::vector<ShownChange> changes_;             // In the batch of this round.
};

}  // namespace basalt::jobsvc
