#pragma once

// Facts that the gateway remembers beside its cache, in order to decide what a replica may do.
// Jobs that went a moment ago: their replicas still put the jobs' objects in order. A job that was forgotten gets no
// request permitted any more.
// The owning job of objects that no watch shows: these are not read before each write. An object that was forgotten is
// read again.
// Objects that were routed to another key a moment ago: the replica may not have heard of the move. After that is
// forgotten, a write about the object counts as one about another's object.
// Each memory is bounded and forgets its oldest entries first. Confined to one loop.
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace basalt::gateway {

class AccessMemory {
 public:
  static constexpr absl::Duration kGoneFor = absl::Minutes(5);
  static constexpr absl::Duration kMovedFor = absl::Seconds(30);
  static constexpr size_t kMost = 50'000;  // The limit of each memory.

  void JobGone(std::string_view key, std::string_view uid, absl::Time now);
  // The UID of the last job of that key which went less than kGoneFor ago. Empty if there is none.
  std::string GoneUid(std::string_view key, absl::Time now) const;

  // The object of that UID names the job as its owner.
  void ObjectSeen(std::string_view uid, std::string_view job_uid);
  bool IsOwned(std::string_view uid, std::string_view job_uid) const;

  // The object of that UID is not routed to the key any more, and still exists.
  void ObjectMoved(std::string_view uid, std::string_view key, absl::Time now);
  // Whether the object was routed to the key less than kMovedFor ago.
  bool WasOf(std::string_view uid, std::string_view key, absl::Time now) const;

 private:
  // Values that count for a time after they were put.
  class Recent {
   public:
    explicit Recent(absl::Duration age) : age_(age) {}
    void Put(std::string key, std::string_view value, absl::Time now);
    // Null if there is no value, or if it is too old.
    const std::string* Find(const std::string& key, absl::Time now) const;

   private:
    struct Entry {
      std::string value;
      absl::Time at;
    };
    const absl::Duration age_;
    absl::flat_hash_map<std::string, Entry> entries_;
    std::deque<std::pair<absl::Time, std::string>> order_;
  };

  Recent gone_{kGoneFor};                                 // The UID, by key.
  Recent moved_{kMovedFor};                               // By UID and key; the values are empty.
  absl::flat_hash_map<std::string, std::string> owners_;  // The UID of the job, by the UID of the object.
  std::deque<std::string> owners_order_;
};

}  // namespace basalt::gateway
