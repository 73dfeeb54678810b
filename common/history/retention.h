#pragma once

// Limits the histories of objects that are gone: by age, and by the bytes that all of a worker's may have. The
// histories of objects that ended first are dropped first. Slots have their turns one after the other, which spreads
// the work. Confined to one loop; the caller has the timer and the clock, and writes the batch.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::history {

struct Limits {
  absl::Duration age = absl::Hours(24 * 7);  // Limits the time since an object went.
  size_t entries = 512;                      // Limits the entries of one object: the oldest are dropped.
  int64_t bytes = int64_t{1} << 30;          // Limits the histories of all objects that are gone, taken together.
};

class Retention {
 public:
  // Each slot has one turn within a lap.
  static constexpr absl::Duration kLap = absl::Hours(1);
  // Returns the time of an entry in milliseconds. Nullopt if the bytes are no entry.
  using TimeOf = std::optional<int64_t> (*)(std::string_view bytes);

  // `store` must outlive this object.
  Retention(const kv::KvStore& store, const Limits& limits, TimeOf time_of);

  // Returns the time from one turn to the next.
  static absl::Duration TurnInterval(size_t slots);
  // Returns the slot whose turn it is. `slots` are the open ones, at least one.
  template <typename Value>
  auto NextTurn(const std::map<uint32_t, Value>& slots) {
    auto turn = slots.upper_bound(last_turn_);
    if (turn == slots.end()) turn = slots.begin();
    last_turn_ = turn->first;
    return turn;
  }

  // Does the turn of a slot: drops in the batch the histories that are too old or too large, of all of the slot's
  // objects except those of `present` (UIDs). A record of the index that cannot be read is added to `damage` and mended
  // in the batch.
  absl::Status Trim(uint32_t slot, const std::set<std::string>& present, absl::Time now, kv::WriteBatch& batch,
                    kv::Damage& damage);
  // Forgets the slot, which this worker does not have any more.
  void Close(uint32_t slot) { bytes_.erase(slot); }

 private:
  // The history of an object that is gone.
  struct Remains {
    std::string index_key;
    std::string uid;
    int64_t end_ms = 0;  // The time at which the object was observed to be gone, else the time of its last entry.
    int64_t bytes = 0;   // The size of the keys of the index and of the entries, and of the entries.
  };
  // Returns the histories in the order in which the objects ended. A history whose object was observed to be gone is
  // measured only once: the batch stores its size for the next turn.
  absl::StatusOr<std::vector<Remains>> ListRemains(uint32_t slot, const std::set<std::string>& present,
                                                   kv::WriteBatch& batch, kv::Damage& damage) const;
  absl::Status Measure(uint32_t slot, bool was_seen, Remains& remains) const;
  int64_t MostBytes(int64_t of_slot) const;

  const kv::KvStore& store_;
  const Limits limits_;
  const TimeOf time_of_;
  uint32_t last_turn_ = 0;
  std::map<uint32_t, int64_t> bytes_;  // The bytes of objects that are gone, by slot, as of the slot's last turn.
};

}  // namespace basalt::history
