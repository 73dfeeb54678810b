#pragma once

// What the gateway remembers beside its cache in order to say what a replica may do: jobs that went a moment ago, whose
// objects are still put in order; which objects that no watch shows were found to be a job's, so that they are not read
// before each write; and objects that were routed to another key a moment ago, of which a replica may not have heard.
// All are bounded, the oldest goes first: of what is forgotten, a job gets nothing done any more, an object is read
// again, and a write about it counts as one about somebody else's object. Confined to one loop.
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
  static constexpr size_t kMost = 50'000;  // Of each.

  void JobGone(std::string_view key, std::string_view uid, absl::Time now);
  // The UID of the last job of that key which went less than kGoneFor ago; empty: there is none.
  std::string GoneUid(std::string_view key, absl::Time now) const;

  // The object of that UID names the job's as its owner.
  void ObjectSeen(std::string_view uid, std::string_view job_uid);
  bool IsOwned(std::string_view uid, std::string_view job_uid) const;

  // The object of that UID is not routed to the key any more, and still exists.
  void ObjectMoved(std::string_view uid, std::string_view key, absl::Time now);
  // Whether the object was routed to the key less than kMovedFor ago.
  bool WasOf(std::string_view uid, std::string_view key, absl::Time now) const;

 private:
  // Values that count for a time from when they were put.
  class Recent {
   public:
    explicit Recent(absl::Duration age) : age_(age) {}
    void Put(std::string key, std::string_view value, absl::Time now);
    // Null: none, or too old.
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

  Recent gone_{kGoneFor};                                 // Key to UID.
  Recent moved_{kMovedFor};                               // UID and key; without a value.
  absl::flat_hash_map<std::string, std::string> owners_;  // Object to job.
  std::deque<std::string> owners_order_;
};

}  // namespace basalt::gateway
