#pragma once

// The garbage collector: follows owner references by UID and carries out background, foreground and orphaning deletion,
// in tasks of bounded size after the change that calls for it. Confined to the server's loop.
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
  // Looks again at what is undecided, where other kinds are served than at the last change.
  void FollowTypes();
  void Run();
  void Process(const std::string& uid);
  void ProcessForeground(const std::string& uid, const Location& at);
  // A dependent holds the owner that is being deleted in the foreground. Asks dependents to go.
  bool IsHeld(const std::string& uid);
  void ProcessOrphaning(const std::string& uid, const Location& at);
  void ProcessOwned(const std::string& uid, const Location& at, const json::value& object);
  // Null when the owner is not there, or not where this dependent may have it.
  const Location* FindOwner(const Owner& owner, const ObjectKey& dependent) const;
  // Nobody can say whether there is such an owner: its kind is not served, and it was not seen to go.
  bool IsUncertain(const Owner& owner) const;
  std::vector<std::string> DependentsOf(const std::string& uid) const;

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::map<std::string, Location> by_uid_;
  std::map<std::string, std::set<std::string>> dependents_;  // Owner's UID → UIDs.
  std::set<std::string> notified_;                           // Owners whose dependents know of the foreground deletion.
  std::set<std::string> gone_;                               // Owners that went before their dependents.
  std::set<std::string> undecided_;                          // Objects with an uncertain owner.
  uint64_t types_seen_ = 0;                                  // Registry::changes().
  std::deque<std::string> queue_;
  std::set<std::string> queued_;
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
