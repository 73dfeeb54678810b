#pragma once

// What clients that watch see of the objects of one controller: when it changed, in which order, and who hears of it. A
// change is recorded in the batch of its pass, and told once that is durable. Confined to the controller's loop.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/random.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/runtime/watch/watch_records.h"
#include "common/watch/revision_log.h"
#include "common/watch/watch_position.h"

namespace basalt::runtime {

// What was told of an object last; a part of the controller's entry of it.
struct Shown {
  uint64_t state = 0;    // A hash of what people see (common/watch/state_hash.h).
  int64_t revision = 0;  // 0: nobody was told of it yet.
  // A watch has begun that could not be told of it, for it had not been seen since the slot was opened: its next state
  // is told even where it is the one that was told before.
  bool is_owed = false;
};
// An object of a slot that is there, or that was there before the slot was opened and was not seen since: nobody knows
// whether it is gone.
using VisitObject = std::function<void(const std::string& key, Shown& shown, bool is_seen)>;
inline Shown ShownOf(const storage::v1::PublishedObject& record) { return {record.state(), record.revision()}; }

// What people see of an object has changed, and is recorded; or the slot is not ours any more.
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
  std::string key;  // Not of kClosed.
  std::string uid;  // Of kGone.
};

class Publisher {
 public:
  using Listener = std::function<void(const ShownChange& change)>;
  // By which an object is known again that goes while nobody looks (known_object.h); for those of which the service has
  // no other record.
  struct Identity {
    std::string uid;
    int64_t resource_version = 0;
  };

  // `random` outlives it.
  explicit Publisher(Random& random) : random_(random) {}

  void SetListener(Listener listener) { listener_ = std::move(listener); }
  // Reads what was told. `epoch`: the slot's. `visit` is told of the objects that are not deleted. Where anything is
  // damaged, the slot has to begin anew: an object that is lost may be gone, and nobody would ever tell.
  absl::Status Open(const kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                    kv::Damage& damage);
  // The same for a service that has nothing else to mend: where anything is damaged, the slot has begun anew in the
  // store, too, and `visit` is told of nothing.
  absl::Status OpenOrBeginAnew(kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                               kv::Damage& damage);
  // What was told before is worth nothing: watching clients get everything anew. Each Shown of the slot is to be
  // cleared.
  void BeginAnew(uint32_t slot, kv::WriteBatch& batch);
  // The slot is not ours any more: that is told at once, and what was not told yet never is.
  void Close(uint32_t slot);
  // Null while the slot is not open here.
  const watch::RevisionLog* LogOf(uint32_t slot) const;

  // The object is there; nothing follows where `state` is what was told.
  void PublishIfChanged(uint32_t slot, const std::string& key, uint64_t state, Shown& shown, kv::WriteBatch& batch) {
    PublishIfChanged(slot, key, state, Identity(), shown, batch);
  }
  void PublishIfChanged(uint32_t slot, const std::string& key, uint64_t state, const Identity& identity, Shown& shown,
                        kv::WriteBatch& batch);
  // The object is gone.
  void PublishEnd(uint32_t slot, const std::string& key, const std::string& uid, Shown& shown, kv::WriteBatch& batch);
  // The batch is durable.
  void Tell();

 private:
  Random& random_;
  Listener listener_;
  std::map<uint32_t, watch::RevisionLog> logs_;  // Of the open slots.
  std::vector<ShownChange> changes_;             // In the batch of this round.
};

}  // namespace basalt::runtime
