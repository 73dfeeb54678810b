#pragma once

// The replicas that the leading gateway knows, and which of them receives the changes of which slot. Passes each change
// of the cache on to the sessions of its receivers. Confined to one loop.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/route/cache.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

// A stream by which a replica is attached.
class ReplicaStream {
 public:
  virtual ~ReplicaStream() = default;
  virtual Session& session() = 0;
  virtual void End(const absl::Status& status) = 0;
};

struct Replica {
  explicit Replica(size_t tombstone_bytes) : tombstones(tombstone_bytes) {}

  // Null while the replica is away.
  Session* session() const { return stream == nullptr ? nullptr : &stream->session(); }
  // The comparisons take as long wherever the texts differ.
  bool HasToken(std::string_view text) const;
  bool HasNameSecret(std::string_view text) const;

  v1::Member member;
  std::string version;
  v1::ProtocolRange protocols;
  std::string name_secret;  // As its process states it.
  std::string token;        // The token of that process, drawn here. Empty if it has not attached to this leader.
  Tombstones tombstones;
  ReplicaStream* stream = nullptr;
  absl::Time attached;  // When that stream, or the last one, attached.
};

class Replicas {
 public:
  using Key = std::pair<int, std::string>;  // Service and name.

  // `cache` must outlive this object. `tombstone_bytes` bounds the tombstones of each replica, and those of each
  // service's slots without an owner.
  Replicas(const Cache& cache, size_t tombstone_bytes);

  const std::map<Key, std::unique_ptr<Replica>>& all() const { return all_; }
  Replica* Find(int service, const std::string& name) const;  // Null if there is none.
  Replica& FindOrMake(int service, const std::string& name);
  size_t CountOf(int service) const;
  void EraseIf(const std::function<bool(const Replica&)>& is_gone);
  // Ends all streams, and forgets everything.
  void Clear(const absl::Status& why);

  // ---- slots ----
  // The replica that receives the slot's changes. Null if there is none.
  Replica* OwnerOf(v1::ServiceKind service, uint32_t slot) const { return owners_[service - 1][slot]; }
  void SetOwner(v1::ServiceKind service, uint32_t slot, Replica* owner) { owners_[service - 1][slot] = owner; }
  bool OwnsAny(const Replica& replica) const;
  // Closes the slot at its owner, and gives the slot and its tombstones to `next`, which may be null.
  void Move(v1::ServiceKind service, uint32_t slot, Replica* next);

  // ---- what changed in the cache ----
  void OnState(ObjectId id);
  // `keeps_unowned` means that the departure from a slot without an owner is kept for the next owner.
  void OnDeparture(ObjectId id, const Departure& departure, bool keeps_unowned);
  void OnHeldBack(ObjectId id);
  void OnWatch(WatchIndex watch);

 private:
  const Cache& cache_;
  const size_t tombstone_bytes_;
  std::map<Key, std::unique_ptr<Replica>> all_;
  std::array<std::vector<Replica*>, kServiceKinds> owners_;  // By service and slot.
  // By service: the departures from slots whose last owner is gone, for the next owner.
  std::vector<Tombstones> unowned_;
};

}  // namespace basalt::gateway
