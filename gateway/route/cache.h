#pragma once

// The newest projected state of every watched object, as compact bytes with a small index entry each (no decoded
// message is kept), and the state of each watch. Notifies one listener of each change, in terms of slots.
//
// Confined to one loop. Design rule 1 (correctness): states of one UID are ordered by resourceVersion, and a lower or
// equal version changes nothing; a relist replaces a watch's content at once; a change of route is a departure from the
// old slot and then a state for the new one; of two UIDs under one name, the older one departs first.
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/slots.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {

// A small number that stands for (watch, UID) while the object is cached. The number is reused afterwards.
using ObjectId = uint32_t;
using WatchIndex = uint16_t;
inline constexpr uint32_t kNoSlot = 0xfffffffe;

struct WatchInfo {
  std::string id;
  v1::Mark::State state = v1::Mark::STATE_UNSPECIFIED;
  int64_t resource_version = 0;
  int64_t objects = 0;
  // True once the state is known: listed, not served, or forbidden.
  bool resolved() const { return state != v1::Mark::STATE_UNSPECIFIED; }
};

// An object is gone from one slot (or, if it is a broadcast object, from all replicas).
struct Departure {
  WatchIndex watch = 0;
  v1::ServiceKind service = v1::SERVICE_KIND_UNSPECIFIED;  // Unspecified for a broadcast object.
  uint32_t slot = kBroadcastSlot;
  std::string routing_key;
  std::string uid;
  v1::Tombstone::Reason reason = v1::Tombstone::REASON_UNSPECIFIED;
  // Not reduced for the service. Its resource_version is that of the departure. All recipients share the object.
  std::shared_ptr<const kube::v1::Object> last;
  int64_t seen_version = 0;  // See Tombstone.observed_version.
};

class CacheListener {
 public:
  virtual ~CacheListener() = default;
  // The object was inserted or has a newer state.
  virtual void OnState(ObjectId id) = 0;
  // Comes before any OnState that follows from the same change. `id` is kNoObject if the object was not cached.
  virtual void OnDeparture(ObjectId id, const Departure& departure) = 0;
  // IsHeldBack(id) is true from now on, so the state is not to be sent. The next OnState ends that.
  virtual void OnHeldBack(ObjectId id) = 0;
  // The resource_version or state of the watch has changed. Comes after the changes that it covers.
  virtual void OnWatch(WatchIndex watch) = 0;
};

inline constexpr ObjectId kNoObject = 0xffffffff;

class Cache {
 public:
  // `watches` contains the ids, in the order in which they are reported. `listener` must outlive the cache.
  Cache(const std::vector<std::string>& watches, CacheListener& listener, RouteOptions routes = {});
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // ---- what a watch reports ----
  void Apply(WatchIndex watch, const kube::v1::Object& object);
  // Applies a DELETED event with the last state. If the event is new, the departure is reported even of an object that
  // was not cached.
  void Remove(WatchIndex watch, const kube::v1::Object& received);
  void Bookmark(WatchIndex watch, int64_t resource_version);
  void Replace(WatchIndex watch, const std::vector<kube::v1::Object>& objects, int64_t resource_version);
  // An absent or forbidden watch keeps its cached objects: missing permission to look is not a deletion.
  void SetState(WatchIndex watch, v1::Mark::State state);

  // Merges the answer of a write like a watch event. Ignored if the watch has already passed that version (and may have
  // shown the deletion), has not listed yet, or still shows another UID under the name, whose end has to come first. If
  // the watch shows an older object of the name only later, the merged object is held back until the older one ends.
  void MergeWritten(const kube::v1::Object& object);

  // ---- what is known ----
  const std::vector<WatchInfo>& watches() const { return watches_; }
  const RouteOptions& routes() const { return routes_; }
  WatchIndex WatchOf(ObjectId id) const { return entries_[id].watch; }
  bool IsBroadcastId(ObjectId id) const { return entries_[id].broadcast; }
  // True if an answer has shown the object while the watch still has an older one of its name.
  bool IsHeldBack(ObjectId id) const { return entries_[id].held_back; }
  // Returns kNoSlot if the object has no route to that service.
  uint32_t SlotOfId(ObjectId id, v1::ServiceKind service) const;
  // Returns namespace/name, the name of a queue, or a namespace. Requires: the object has a route to that service. The
  // view is valid until the cache changes.
  std::string_view RoutingKeyOf(ObjectId id, v1::ServiceKind service) const;
  // Returns a serialized kube.v1.Object.
  std::string_view Serialized(ObjectId id) const { return entries_[id].payload(); }
  size_t BytesOf(ObjectId id) const { return entries_[id].data.size(); }
  // Requires: `id` is cached.
  kube::v1::Object Read(ObjectId id) const;
  // Returns all objects of a slot of a service, also those that are held back. With kBroadcastSlot, returns all
  // broadcast objects. The order is the same in each run.
  const std::vector<ObjectId>& Members(v1::ServiceKind service, uint32_t slot) const;
  ObjectId Find(WatchIndex watch, std::string_view uid) const;
  // Returns the UID of the object of that name in any watch with that prefix. Empty if none is known.
  std::string UidOf(std::string_view watch_prefix, std::string_view ns, std::string_view name) const;
  size_t size() const { return entries_.size() - free_.size(); }
  ObjectId id_bound() const { return static_cast<ObjectId>(entries_.size()); }

 private:
  struct Text {  // A part of Entry::data.
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Placement {
    uint32_t slot = kNoSlot;
    uint32_t position = 0;  // The index in members_.
    Text routing_key;
  };
  struct Entry {
    // Contains the UID, the key (namespace/name), each routing key that is no prefix of the key, and the serialized
    // object.
    std::string data;
    int64_t resource_version = 0;
    WatchIndex watch = 0;
    uint16_t uid_size = 0;
    uint16_t key_size = 0;
    bool broadcast = false;
    bool used = false;
    bool held_back = false;  // Another object has the name in by_name_.
    uint32_t payload_begin = 0;
    uint32_t broadcast_position = 0;
    std::array<Placement, kServiceKinds> placements;
    std::string_view uid() const { return {data.data(), uid_size}; }
    std::string_view key() const { return std::string_view(data).substr(uid_size, key_size); }
    std::string_view payload() const { return std::string_view(data).substr(payload_begin); }
    std::string_view At(Text text) const { return std::string_view(data).substr(text.begin, text.size); }
  };
  struct Wanted {  // A UID or a name to look up.
    WatchIndex watch;
    std::string_view text;
  };
  template <bool kByUid>
  struct Hash {
    using is_transparent = void;
    const std::deque<Entry>* entries;
    size_t operator()(const Wanted& wanted) const;
    size_t operator()(ObjectId id) const;
  };
  template <bool kByUid>
  struct Equal {
    using is_transparent = void;
    const std::deque<Entry>* entries;
    bool operator()(ObjectId id, const Wanted& wanted) const;
    bool operator()(const Wanted& wanted, ObjectId id) const { return (*this)(id, wanted); }
    bool operator()(ObjectId a, ObjectId b) const { return a == b; }
  };
  template <bool kByUid>
  using Index = absl::flat_hash_set<ObjectId, Hash<kByUid>, Equal<kByUid>>;

  ObjectId FindName(WatchIndex watch, std::string_view key) const;
  int FindWatch(std::string_view id) const;
  int WatchForWritten(const kube::v1::Object& object) const;
  // Returns a failed pod with its times, also that of its disruption, in the order that was observed (kube.proto:
  // Pod.deletion_ms). Nullopt if the times are in that order already.
  std::optional<kube::v1::Object> WithOrderOfMarks(ObjectId id, const kube::v1::Object& object) const;
  // Frees the name for an object that is new to the cache (`id` is kNoObject) or held back: an older object that has
  // the name departs, a newer one is held back.
  void TakeName(WatchIndex watch, std::string_view key, ObjectId id, int64_t resource_version);
  // Returns false if the cached state is as new. `ref` is that of `received`.
  bool Upsert(WatchIndex watch, const kube::v1::Object& received, const ObjectRef& ref);
  // Reports that `id` left those of its routes that are not among `routes`.
  void Leave(ObjectId id, WatchIndex watch, const std::vector<Route>& routes, int64_t resource_version);
  void Place(ObjectId id, const std::vector<Route>& routes);
  void Unplace(ObjectId id, int service);
  void Erase(ObjectId id);
  // Reports to all routes of `last` that it is gone, then erases `id` (unless kNoObject). Then reports the object that
  // was held back behind it.
  void Depart(ObjectId id, WatchIndex watch, const kube::v1::Object& last, v1::Tombstone::Reason reason,
              int64_t seen_version);
  // Like Depart, with the known state, for an object whose name or UID another object takes.
  void DepartReplaced(ObjectId id, int64_t resource_version);
  v1::Tombstone::Reason ReasonOf(WatchIndex watch, const kube::v1::Object& last) const;
  void Advance(WatchIndex watch, int64_t resource_version);

  CacheListener& listener_;
  const RouteOptions routes_;
  std::vector<WatchInfo> watches_;
  std::deque<Entry> entries_;
  std::vector<ObjectId> free_;
  std::string fresh_;  // A new Entry::data while it is built.
  Index<true> by_uid_;
  Index<false> by_name_;
  std::map<std::pair<WatchIndex, std::string>, ObjectId> held_back_;       // By watch and name.
  std::array<std::vector<std::vector<ObjectId>>, kServiceKinds> members_;  // [service][slot]
  std::vector<ObjectId> broadcast_;
};

}  // namespace basalt::gateway
