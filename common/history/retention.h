#pragma once

// How long the histories of objects that are gone are kept: for some time, and as far as the bytes suffice that all of
// a worker may have; those go first that ended first. Slots have their turns one after the other, so that the work is
// spread. Confined to one loop; the caller has the timer and the clock, and writes the batch.
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
  absl::Duration age = absl::Hours(24 * 7);  // Of an object that is gone, since it went.
  size_t entries = 512;                      // Of one object, at most: the oldest go.
  int64_t bytes = int64_t{1} << 30;          // Of objects that are gone, all together: those go that ended first.
};

class Retention {
 public:
  // Within it each slot has one turn.
  static constexpr absl::Duration kLap = absl::Hours(1);
  // The time of an entry in milliseconds; nullopt: the bytes are none.
  using TimeOf = std::optional<int64_t> (*)(std::string_view bytes);

  // `store` outlives it.
  Retention(const kv::KvStore& store, const Limits& limits, TimeOf time_of);

  // From one turn to the next.
  static absl::Duration TurnInterval(size_t slots);
  // The slot whose turn it is. `slots`: those that are open, at least one.
  template <typename Value>
  auto NextTurn(const std::map<uint32_t, Value>& slots) {
    auto turn = slots.upper_bound(last_turn_);
    if (turn == slots.end()) turn = slots.begin();
    last_turn_ = turn->first;
    return turn;
  }

  // The turn of a slot: drops in the batch what is too old or too much of all of its objects but those of `present`
  // (UIDs). A record of the index that cannot be read is put to `damage` and mended in the batch.
  absl::Status Trim(uint32_t slot, const std::set<std::string>& present, absl::Time now, kv::WriteBatch& batch,
                    kv::Damage& damage);
  // The slot is not here any more.
  void Close(uint32_t slot) { bytes_.erase(slot); }

 private:
  // The history of an object that is gone.
  struct Remains {
    std::string index_key;
    std::string uid;
    int64_t end_ms = 0;  // When the object was seen to be gone; where nobody saw it go, its last entry's time.
    int64_t bytes = 0;   // Of the keys of the index and the entries, and of the entries.
  };
  // In the order in which the objects ended. A history is measured once its object was seen to be gone: the batch keeps
  // its size for the next turn.
  absl::StatusOr<std::vector<Remains>> ListRemains(uint32_t slot, const std::set<std::string>& present,
                                                   kv::WriteBatch& batch, kv::Damage& damage) const;
  absl::Status Measure(uint32_t slot, bool was_seen, Remains& remains) const;
  int64_t MostBytes(int64_t of_slot) const;

  const kv::KvStore& store_;
  const Limits limits_;
  const TimeOf time_of_;
  uint32_t last_turn_ = 0;
  std::map<uint32_t, int64_t> bytes_;  // Of objects that are gone, by slot, as of its last turn.
};

}  // namespace basalt::history
