#pragma once

// What a replica has to be told is gone, kept until it has acknowledged it, also while it is away: "failed with 3, then
// deleted" is then seen as both (correctness 1). Over a bound in bytes only the fact remains. What is gone of slots
// that nobody owns is kept in the same way for their next owner; who may never come, so that there nothing remains over
// the bound: absence tells the fact, too. Confined to one loop.
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

struct TombstoneKey {
  uint32_t slot = 0;
  WatchIndex watch = 0;
  std::string uid;
  friend auto operator<=>(const TombstoneKey&, const TombstoneKey&) = default;
};

class Tombstones {
 public:
  enum class OverBound { kKeepFact, kForget };

  explicit Tombstones(size_t bound_bytes, OverBound over_bound = OverBound::kKeepFact)
      : bound_bytes_(bound_bytes), over_bound_(over_bound) {}

  // Merged with an earlier one of the same key: the newer state, and a deletion outweighs a departure.
  TombstoneKey Add(const Departure& departure);
  // What a new owner of the slot has to be told too.
  void MoveSlot(uint32_t slot, Tombstones& to);
  void Clear();
  // In the order of the versions at which the objects were seen last, so that of one name the older object comes first;
  // then of keys: the same in each run.
  std::vector<TombstoneKey> OfSlot(uint32_t slot) const;
  bool HasOfSlot(uint32_t slot) const;

  // Null where it has been acknowledged or dropped. `cache` names the watch.
  bool Fill(const TombstoneKey& key, const Cache& cache, v1::ServiceKind service, v1::Tombstone& out) const;
  size_t BytesOf(const TombstoneKey& key) const;
  void SetSent(const TombstoneKey& key, int64_t sequence);
  // Forgets it if what was sent with that sequence is still the newest.
  void Acknowledge(const TombstoneKey& key, int64_t sequence);
  // A new stream numbers its batches anew.
  void ForgetSent();

  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string routing_key;
    v1::Tombstone::Reason reason = v1::Tombstone::REASON_UNSPECIFIED;
    std::shared_ptr<const kube::v1::Object> last;
    int64_t seen_version = 0;
    size_t bytes = 0;
    bool state_dropped = false;
    int64_t sent_sequence = 0;
  };
  using Entries = std::map<TombstoneKey, Entry>;
  Entries::iterator Erase(Entries::iterator it);
  void Keep(const TombstoneKey& key, Entry entry);

  const size_t bound_bytes_;
  const OverBound over_bound_;
  size_t bytes_ = 0;
  Entries entries_;
};

}  // namespace basalt::gateway
