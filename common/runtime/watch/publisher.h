#pragma once

// Publishes the changes of one controller's objects to clients that watch, in order. A change is recorded in the batch
// of its pass, and published once the batch is durable. Confined to the controller's loop; the listener is called
// there.
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

// The last published state of an object; a part of the controller's entry of the object.
struct Shown {
  uint64_t state = 0;    // A hash of the published state (common/watch/state_hash.h).
  int64_t revision = 0;  // 0 if the object was not published yet.
  // A watch has begun without the object, because the object had not been observed since the slot was opened. Its next
  // state is published even if it equals the last published one.
  bool is_owed = false;
};
// Visits an object of a slot. `is_seen` is false if the object existed before the slot was opened and has not been
// observed since, so that it may be gone.
using VisitObject = std::function<void(const std::string& key, Shown& shown, bool is_seen)>;
inline Shown ShownOf(const storage::v1::PublishedObject& record) { return {record.state(), record.revision()}; }

// The published state of an object has changed, and is recorded; or the slot is not ours any more.
struct ShownChange {
  enum class Kind {
    kShown,
    kGone,
    kUnseen,  // The object has gone before it was ever published.
    kClosed
  };
  Kind kind;
  uint32_t slot = 0;
  watch::WatchPosition position;
  std::string key;  // Empty for kClosed.
  std::string uid;  // Set for kGone.
};

class Publisher {
 public:
  using Listener = std::function<void(const ShownChange& change)>;
  // Identifies an object that goes while no process observes it (known_object.h). For objects of which the service has
  // no other record.
  struct Identity {
    std::string uid;
    int64_t resource_version = 0;
  };

  // `random` outlives the publisher.
  explicit Publisher(Random& random) : random_(random) {}

  // Call it before the first slot is opened.
  void SetListener(Listener listener) { listener_ = std::move(listener); }
  // Reads the published states of the slot, whose epoch is `epoch`. Calls `visit` for each object that is not deleted.
  // If anything is damaged, the slot has to begin anew: a lost object may be gone, and its deletion would never be
  // published. Call it once for each opening of the slot.
  absl::Status Open(const kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                    kv::Damage& damage);
  // Does what Open does, for a service that has nothing else to repair: if anything is damaged, the slot has begun anew
  // in the store, too, and `visit` is not called.
  absl::Status OpenOrBeginAnew(kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                               kv::Damage& damage);
  // Forgets what was published: watching clients get everything anew. The caller clears each Shown of the slot.
  // Requires: the slot is open.
  void BeginAnew(uint32_t slot, kv::WriteBatch& batch);
  // The slot is not ours any more. Publishes that at once; changes that were not published yet are dropped.
  void Close(uint32_t slot);
  // Returns null while the slot is not open here.
  const watch::RevisionLog* LogOf(uint32_t slot) const;

  // The object exists. Publishes nothing if `state` is the last published one, or if the slot is not open. May be
  // repeated.
  void PublishIfChanged(uint32_t slot, const std::string& key, uint64_t state, Shown& shown, kv::WriteBatch& batch) {
    PublishIfChanged(slot, key, state, Identity(), shown, batch);
  }
  void PublishIfChanged(uint32_t slot, const std::string& key, uint64_t state, const Identity& identity, Shown& shown,
                        kv::WriteBatch& batch);
  // The object is gone. Records its deletion if the object was published. May be repeated: an object that is not
  // published any more counts as kUnseen.
  void PublishEnd(uint32_t slot, const std::string& key, const std::string& uid, Shown& shown, kv::WriteBatch& batch);
  // Publishes the changes of this round, because the batch is durable. May be repeated.
  void NotifyListeners();

 private:
  Random& random_;
  Listener listener_;
  std::map<uint32_t, watch::RevisionLog> logs_;  // The logs of the open slots.
  std::vector<ShownChange> changes_;             // The changes in the batch of this round.
};

}  // namespace basalt::runtime
