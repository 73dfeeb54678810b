#pragma once

// The departures that a replica has not acknowledged, kept also while it is away. The replica then observes both parts
// of "failed with 3, then deleted" (correctness 1). Over a bound in bytes, only the fact of a departure remains.
// Departures from slots without an owner are kept in the same way for the next owner. That owner may never come, so
// there nothing remains over the bound: the absence of an object shows the fact, too. Confined to one loop.
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

  // Merges the departure with an earlier one of the same key: the newer state counts, and a deletion outweighs
  // REASON_LEFT.
  TombstoneKey Add(const Departure& departure);
  // Moves the tombstones of the slot, which its new owner must receive, too.
  void MoveSlot(uint32_t slot, Tombstones& to);
  void Clear();
  // Returns the keys in the order of the versions at which the objects were observed last, so that of one name the
  // older object comes first. Keys of one version are in their own order, which is the same in each run.
  std::vector<TombstoneKey> OfSlot(uint32_t slot) const;
  bool HasOfSlot(uint32_t slot) const;

  // Returns false if the tombstone has been acknowledged or dropped. `cache` names the watch.
  bool Fill(const TombstoneKey& key, const Cache& cache, v1::ServiceKind service, v1::Tombstone& out) const;
  size_t BytesOf(const TombstoneKey& key) const;
  void SetSent(const TombstoneKey& key, int64_t sequence);
  // Forgets the tombstone if the state sent with that sequence is still the newest.
  void Acknowledge(const TombstoneKey& key, int64_t sequence);
  // Forgets the sequences, since a new stream numbers its batches anew.
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
