#pragma once

// Whose a slot was in which epoch, as far back as is remembered: what a replica claims to hold of an ownership is
// believed only where the ownership was the replica's. By names: a disk outlives a process. One thread.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/storage/v1/storage.pb.h"

namespace basalt::gateway {

class PastMembers {
 public:
  static constexpr size_t kMostBytes = 100'000;  // All of them are in one ConfigMap, with the members of today.

  // The slots of a service in one epoch.
  struct Owners {
    bool unknown = false;  // Who had them is not known.
    std::vector<std::string> names;
    std::vector<size_t> by_slot;  // Index into `names`; empty: nobody had any.
    bool MayBeOf(const std::string& replica, uint32_t slot) const {
      return unknown || (!by_slot.empty() && names[by_slot[slot]] == replica);
    }
  };

  void Restore(const storage::v1::AssignmentRecord& saved);
  // `before` was so until `record`, which may have the same names. Before the first assignment nothing is known.
  void Add(const v1::Assignment& before, const storage::v1::AssignmentRecord& record);
  void Save(storage::v1::AssignmentRecord& record) const;

  Owners OwnersAt(const v1::Assignment& now, v1::ServiceKind service, int64_t epoch) const;

 private:
  std::deque<storage::v1::AssignmentRecord::Past> past_;
};

}  // namespace basalt::gateway
