#pragma once

// The newest projected state of every watched object, as compact bytes with a small index entry each (no decoded
// message is kept), and what the watches have reached. Tells one listener of each change in terms of slots.
//
// Confined to one loop. Design rule 1 (correctness): states of one UID are ordered by resourceVersion, a lower or equal
// one changes nothing; a relist replaces a watch's content at once; a change of route is a departure from the old slot
// and then a state for the new one; of two UIDs under one name the older one departs first.
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
#include "gateway/route/routes.h"

namespace basalt::gateway {

// A small number that stands for (watch, UID) while the object is cached; used again afterwards.
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

// An object is gone from one slot (or, if it is a broadcast one, from everybody).
struct Departure {
  WatchIndex watch = 0;
  v1::ServiceKind service = v1::SERVICE_KIND_UNSPECIFIED;  // Unspecified = everybody.
  uint32_t slot = kBroadcastSlot;
  std::string routing_key;
  std::string uid;
  v1::Tombstone::Reason reason = v1::Tombstone::REASON_UNSPECIFIED;
  // Not reduced for the service; resource_version is that of the departure. Shared by all who are told.
  std::shared_ptr<const kube::v1::Object> last;
  int64_t seen_version = 0;  // As Tombstone.observed_version.
};

class CacheListener {
 public:
  virtual ~CacheListener() = default;
  // Inserted or newer.
  virtual void OnState(ObjectId id) = 0;
  // Comes before any OnState that follows from the same change. `id` is kNoObject where the object was not cached.
  virtual void OnDeparture(ObjectId id, const Departure& departure) = 0;
  // IsHeldBack says so of the object from now on: its state is not to be sent. OnState ends that.
  virtual void OnHeldBack(ObjectId id) = 0;
  // resource_version or state of the watch moved. Comes after the changes that it covers.
  virtual void OnWatch(WatchIndex watch) = 0;
};

inline constexpr ObjectId kNoObject = 0xffffffff;

class Cache {
 public:
  // `watches`: ids, in the order in which they are reported. `listener` outlives the cache.
  Cache(const std::vector<std::string>& watches, CacheListener& listener, RouteOptions routes = {});
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // ---- what a watch reports ----
  void Apply(WatchIndex watch, const kube::v1::Object& object);
  // A DELETED event with the last state. An object that was not cached is told all the same, if the event is new.
  void Remove(WatchIndex watch, const kube::v1::Object& received);
  void Bookmark(WatchIndex watch, int64_t resource_version);
  void Replace(WatchIndex watch, const std::vector<kube::v1::Object>& objects, int64_t resource_version);
  // Absent and forbidden keep what is cached: not being allowed to look is not a deletion.
  void SetState(WatchIndex watch, v1::Mark::State state);

  // The answer of a write, merged like a watch event. Ignored where its watch has already been further (the watch may
  // have told its deletion), has not listed yet, or still shows another UID under the name (its end has to come first).
  // Where the watch shows an older object of the name only later, the merged one is held back until the older one ends.
  void MergeWritten(const kube::v1::Object& object);

  // ---- what is known ----
  const std::vector<WatchInfo>& watches() const { return watches_; }
  const RouteOptions& routes() const { return routes_; }
  WatchIndex WatchOf(ObjectId id) const { return entries_[id].watch; }
  bool IsBroadcastId(ObjectId id) const { return entries_[id].broadcast; }
  // An answer has shown the object, and the watch still has an older one of its name.
  bool IsHeldBack(ObjectId id) const { return entries_[id].held_back; }
  // kNoSlot where the object has no route to that service.
  uint32_t SlotOfId(ObjectId id, v1::ServiceKind service) const;
  // Of a route that the object has: namespace/name, or a queue's name. Views are valid until the cache changes.
  std::string_view RoutingKeyOf(ObjectId id, v1::ServiceKind service) const;
  // As a serialized kube.v1.Object.
  std::string_view Serialized(ObjectId id) const { return entries_[id].payload(); }
  size_t BytesOf(ObjectId id) const { return entries_[id].data.size(); }
  // Requires: `id` is cached.
  kube::v1::Object Read(ObjectId id) const;
  // All of a slot of a service, those that are held back among them; with kBroadcastSlot all broadcast objects. In an
  // order that is the same in each run.
  const std::vector<ObjectId>& Members(v1::ServiceKind service, uint32_t slot) const;
  ObjectId Find(WatchIndex watch, std::string_view uid) const;
  // The UID under that name in any watch of the kind's objects; empty = not known.
  std::string UidOf(std::string_view watch_prefix, std::string_view ns, std::string_view name) const;
  size_t size() const { return entries_.size() - free_.size(); }
  ObjectId id_bound() const { return static_cast<ObjectId>(entries_.size()); }

 private:
  struct Text {  // Within Entry::data.
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Placement {
    uint32_t slot = kNoSlot;
    uint32_t position = 0;  // In members_.
    Text routing_key;
  };
  struct Entry {
    std::string data;  // uid, key (namespace/name), those routing keys that do not begin it, serialized object.
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
  struct Wanted {  // What is looked up: by UID or by name.
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
  // A failed pod with its times in the order that was seen (kube.proto: Pod.deletion_ms), its disruption likewise;
  // nothing where they are.
  std::optional<kube::v1::Object> WithOrderOfMarks(ObjectId id, const kube::v1::Object& object) const;
  // Makes room for the name of an object that is new to the cache (`id` is kNoObject) or held back: an older object
  // that has the name departs, a newer one is held back.
  void TakeName(WatchIndex watch, std::string_view key, ObjectId id, int64_t resource_version);
  // False where what is cached is as new.
  bool Upsert(WatchIndex watch, const kube::v1::Object& received);
  // Tells that routes of `id` are gone that are not among `routes`.
  void Leave(ObjectId id, WatchIndex watch, const std::vector<Route>& routes, int64_t resource_version);
  void Place(ObjectId id, const std::vector<Route>& routes);
  void Unplace(ObjectId id, int service);
  void Erase(ObjectId id);
  // Tells all routes of `last` that it is gone, then erases `id` (unless kNoObject); the one that was held back behind
  // it is told.
  void Depart(ObjectId id, WatchIndex watch, const kube::v1::Object& last, v1::Tombstone::Reason reason,
              int64_t seen_version);
  // The same of an object that another one takes the place of, by name or by UID, with the state that is known.
  void DepartReplaced(ObjectId id, int64_t resource_version);
  v1::Tombstone::Reason ReasonOf(WatchIndex watch, const kube::v1::Object& last) const;
  void Advance(WatchIndex watch, int64_t resource_version);

  CacheListener& listener_;
  const RouteOptions routes_;
  std::vector<WatchInfo> watches_;
  std::deque<Entry> entries_;
  std::vector<ObjectId> free_;
  std::string fresh_;  // Entry::data in the making.
  Index<true> by_uid_;
  Index<false> by_name_;
  std::map<std::pair<WatchIndex, std::string>, ObjectId> held_back_;       // By name.
  std::array<std::vector<std::vector<ObjectId>>, kServiceKinds> members_;  // [service][slot]
  std::vector<ObjectId> broadcast_;
};

}  // namespace basalt::gateway
