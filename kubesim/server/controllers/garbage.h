#pragma once

// The garbage collector: follows owner references by UID and carries out background, foreground and orphaning deletion,
// in tasks of limited size after the change that requires it. Confined to the server's loop.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubesim/server/controllers/wakeup.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {

class GarbageCollector {
 public:
  GarbageCollector(Core& core, ObjectWriter& writer, Deleter& deleter);

 private:
  struct Location {
    std::string resource;
    ObjectKey key;
  };
  struct Owner {
    std::string api_version;
    std::string kind;
    std::string uid;
    std::string name;
    bool blocks = false;
    bool operator==(const Owner&) const = default;
  };
  static std::vector<Owner> OwnersOf(const json::value& object);

  void OnChange(const std::string& resource, const Change& change);
  void Enqueue(const std::string& uid);
  void EnqueueDependents(const std::string& uid);
  // Enqueues the undecided objects if the set of served kinds has changed since the last call.
  void FollowTypes();
  void Run();
  void Process(const std::string& uid);
  void ProcessForeground(const std::string& uid, const Location& at);
  // Returns whether a dependent blocks an owner that is being deleted in the foreground. Enqueues the dependents, so
  // that they are deleted.
  bool IsHeld(const std::string& uid);
  void ProcessOrphaning(const std::string& uid, const Location& at);
  void ProcessOwned(const std::string& uid, const Location& at, const json::value& object);
  // Returns where the owner is. Null if the owner does not exist, or is in a namespace in which this dependent cannot
  // have an owner.
  const Location* FindOwner(const Owner& owner, const ObjectKey& dependent) const;
  // Returns whether it is unknown if the owner exists: its kind is not served, and its deletion was not observed.
  bool IsUncertain(const Owner& owner) const;
  std::vector<std::string> DependentsOf(const std::string& uid) const;

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::map<std::string, Location> by_uid_;
  std::map<std::string, std::set<std::string>> dependents_;  // The UIDs of the dependents, by the owner's UID.
  std::set<std::string> notified_;   // Owners in foreground deletion whose dependents have been enqueued.
  std::set<std::string> gone_;       // Owners that went before their dependents.
  std::set<std::string> undecided_;  // Objects with an uncertain owner.
  uint64_t types_seen_ = 0;          // Registry::changes() at the last FollowTypes().
  std::deque<std::string> queue_;
  std::set<std::string> queued_;
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
