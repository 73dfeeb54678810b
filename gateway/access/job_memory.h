#pragma once

// What the gateway remembers of jobs beside its cache: those that went a moment ago, whose objects are still put in
// order, and which objects that no watch shows were found to be a job's, so that they are not read before each write.
// Both are bounded, the oldest goes first: of what is forgotten, a job gets nothing done any more, and an object is
// read again. Confined to one loop.
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace basalt::gateway {

class JobMemory {
 public:
  static constexpr absl::Duration kGoneFor = absl::Minutes(5);
  static constexpr size_t kMost = 50'000;  // Of either.

  void JobGone(std::string_view key, std::string_view uid, absl::Time now);
  // The UID of the last job of that key which went less than kGoneFor ago; empty: there is none.
  std::string GoneUid(std::string_view key, absl::Time now) const;

  // The object of that UID names the job's as its owner.
  void ObjectSeen(std::string_view uid, std::string_view job_uid);
  bool IsOwned(std::string_view uid, std::string_view job_uid) const;

 private:
  struct Gone {
    std::string uid;
    absl::Time at;
  };
  absl::flat_hash_map<std::string, Gone> gone_;  // By key.
  std::deque<std::pair<absl::Time, std::string>> gone_order_;
  absl::flat_hash_map<std::string, std::string> owners_;  // Object to job.
  std::deque<std::string> owners_order_;
};

}  // namespace basalt::gateway
