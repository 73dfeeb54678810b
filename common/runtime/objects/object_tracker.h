#pragma once

// Orders the gateway's messages about objects and concludes which objects are absent: correctness rule 1. Pure: no
// loop, no clock.
//
// Every object is tracked per (watch, UID) with the highest resourceVersion known of the object, answers to own writes
// included. At the end of a slot's snapshot an object that was not mentioned is gone only if the mark of its watch is
// at least that resourceVersion. Else it is uncertain until a later mark of that watch passes it, or a state mentions
// it.
//
// One worker owns it and uses it on its loop; it covers all slots of the worker. The sink is called in a deterministic
// order.
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/runtime/objects/known_object.h"
#include "common/runtime/objects/object_identity.h"

namespace basalt::runtime {

class ObjectTracker {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnState(uint32_t slot, const std::string& routing_key, const std::string& watch,
                         kube::v1::Object&& object) = 0;
    virtual void OnGone(uint32_t slot, const std::string& routing_key, const Gone& gone) = 0;
  };

  // `sink` outlives the tracker and must not call it back.
  explicit ObjectTracker(Sink& sink) : sink_(sink) {}

  void Open(uint32_t slot, const std::vector<KnownObject>& known);
  void Close(uint32_t slot);
  bool IsOpen(uint32_t slot) const { return FindSlot(slot) != nullptr; }

  // From now on another stream sends the messages. Marks prove nothing about a slot before its snapshot has come by the
  // new stream, since messages of the old stream may be lost.
  void StartStream();
  void Begin(uint32_t slot);
  void State(gateway::v1::ObjectState&& state);
  void Tombstone(const gateway::v1::Tombstone& tombstone);
  // Returns true if the slot is ready: no watch of it is forbidden.
  bool End(const gateway::v1::SlotEnd& end);
  // Returns the slots that became ready, because a watch that was forbidden to them is served now.
  std::vector<uint32_t> Progress(const gateway::v1::Progress& progress);

  // Takes the answer to an own write, of an object that `routing_key` wrote. Returns false if the object is gone; the
  // sink was notified of the end now or before.
  bool OwnState(uint32_t slot, std::string_view routing_key, const kube::v1::Object& object);
  // Takes the answer to an own deletion.
  void OwnDeletion(uint32_t slot, std::string_view routing_key, const kube::v1::Object& last);

  size_t objects() const { return objects_; }
  // How often a snapshot lacked an object whose absence its marks could not prove.
  uint64_t uncertain_absences() const { return uncertain_absences_; }
  // Returns the watches that the server forbids to any open slot.
  std::set<std::string> Forbidden() const;

 private:
  using WatchId = uint16_t;

  // Whether an object exists, as far as is known. TraitsOf returns the consequences.
  enum class Presence : uint8_t {
    kPresent,
    kUncertain,  // No snapshot has the object, and no mark is high enough to prove that it is gone.
    kLeft,       // The watch has the object no more; a later state brings it back.
    kEnded,      // Gone by the answer to a write, or by another UID under its name; the watch has not reported it yet.
    kDeleted     // Gone by its watch. A UID never comes back.
  };
  struct Traits {
    bool named;        // The object has its name: by_name leads to it.
    bool awaits_mark;  // A mark that passes the object's version decides about it, or lets it be forgotten.
    bool over;         // No state of the object is passed on.
    // The presence after a snapshot without the object whose mark does not prove that it is gone.
    Presence unmentioned;
  };

  struct Tracked {
    int64_t resource_version = 0;
    const std::string* route = nullptr;  // Interned in Slot::routes.
    std::string name;                    // Names the watch and the object: WatchKey(watch, "namespace/name").
    Presence presence = Presence::kPresent;
    bool mentioned = false;  // The snapshot under way has the object.
    bool loaded = false;     // Only the store knows the object: its state is passed on even if it is no newer.
  };
  template <typename Text>
  struct WatchAndUid {
    WatchId watch = 0;
    Text uid;
    friend auto operator<=>(const WatchAndUid&, const WatchAndUid&) = default;
  };
  using ObjectKey = WatchAndUid<std::string>;
  using ObjectView = WatchAndUid<std::string_view>;
  struct Hash {
    using is_transparent = void;
    template <typename Text>
    size_t operator()(const WatchAndUid<Text>& key) const {
      return std::hash<std::string_view>()(key.uid) + key.watch;
    }
  };
  struct Same {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const WatchAndUid<A>& a, const WatchAndUid<B>& b) const {
      return a.watch == b.watch && a.uid == b.uid;
    }
  };
  // Only for lookups. An order that leaves the tracker is made by sorting.
  using Objects = std::unordered_map<ObjectKey, Tracked, Hash, Same>;

  struct Slot {
    bool in_snapshot = true;
    uint64_t ended_at = 0;             // Tick of the last end; 0 before the first.
    std::map<WatchId, int64_t> marks;  // Marks of that end.
    // Marks that were reached before the snapshot under way: the cache of another gateway may be behind them.
    std::map<WatchId, int64_t> before;
    std::set<WatchId> forbidden;
    Objects objects;
    std::unordered_map<std::string_view, Objects::value_type*> by_name;  // Present and uncertain objects.
    std::map<std::string, size_t, std::less<>> routes;                   // Number of objects by routing key.
  };

  struct Progressed {
    int64_t resource_version = 0;
    uint64_t tick = 0;
  };

  WatchId Intern(std::string_view watch);
  static std::string WatchKey(WatchId watch, std::string_view text);
  static std::string_view Text(std::string_view watch_key) { return watch_key.substr(2); }
  Slot* FindSlot(uint32_t slot) const { return slot < slots_.size() ? slots_[slot].get() : nullptr; }

  Objects::value_type* Find(Slot& slot, WatchId watch, std::string_view uid);
  // Returns the entry under whichever watch has the object.
  Objects::value_type* FindAnywhere(Slot& slot, std::string_view uid);
  Objects::value_type* Insert(Slot& slot, WatchId watch, std::string_view uid, std::string_view ns,
                              std::string_view name, std::string_view route);
  void SetRoute(Slot& slot, Tracked& tracked, std::string_view route);
  void ReleaseRoute(Slot& slot, Tracked& tracked);
  static const Traits& TraitsOf(const Tracked& tracked);
  // Changes the facts that decide whether the entry has its name and waits for a mark, and keeps both indexes.
  void Set(uint32_t slot_id, Slot& slot, Objects::value_type& entry, Presence presence, int64_t resource_version);
  void TakeName(Slot& slot, Objects::value_type& entry);
  void Forget(uint32_t slot_id, Slot& slot, Objects::value_type& entry);
  // Ends the entry and notifies the sink. `by_watch`: the watch itself reported the end.
  void EndEntry(uint32_t slot_id, Slot& slot, Objects::value_type& entry, Gone::Reason reason, int64_t resource_version,
                const kube::v1::Object* last, bool by_watch);
  // Handles another UID under the same name: ends the object that has the name. Returns false if that one is newer.
  bool Replace(uint32_t slot_id, Slot& slot, WatchId watch, const ObjectIdentity& identity);
  void Apply(uint32_t slot_id, Slot& slot, Objects::value_type& entry, std::string_view route, int64_t resource_version,
             kube::v1::Object&& object);
  int64_t MarkOf(const Slot& slot, WatchId watch) const;
  // Returns whether the state is news: the sink has neither that state of the object nor a newer one.
  static bool IsNews(const Tracked& tracked, int64_t resource_version);
  // Returns whether an untracked object is old news: an earlier mark has passed it, so it has gone since, and we know
  // that.
  bool IsPast(const Slot& slot, WatchId watch, int64_t resource_version) const;
  void ClearForbidden(uint32_t slot_id, Slot& slot);
  void ConcludeAbsent(uint32_t slot_id, Slot& slot, WatchId watch);

  Sink& sink_;
  std::map<std::string, WatchId, std::less<>> watch_ids_;
  std::vector<std::string> watches_;
  WatchId last_watch_ = 0;                    // The watch of the last lookup, which mostly is that of the next, too.
  std::vector<std::unique_ptr<Slot>> slots_;  // By id. Null if the slot is not open.
  std::map<WatchId, Progressed> progress_;
  std::set<std::pair<WatchId, uint32_t>> forbidden_;  // The contents of Slot::forbidden, by watch.
  uint64_t tick_ = 0;
  size_t objects_ = 0;
  uint64_t uncertain_absences_ = 0;
  // Entries that wait for a mark: uncertain objects, and ends that are kept so that older states do not revive them.
  using Waiting = std::set<std::tuple<int64_t, uint32_t, ObjectKey>>;
  std::map<WatchId, Waiting> waiting_;  // By watch.
};

}  // namespace basalt::runtime
