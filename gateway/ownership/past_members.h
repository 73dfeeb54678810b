#pragma once

// Remembers which replica owned a slot in which epoch, within kMostBytes. A replica's claim to hold records of an
// ownership is believed only if the ownership was its own. Replicas count by name: a disk outlives a process. Confined
// to one thread.
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
  static constexpr size_t kMostBytes = 100'000;  // All past members are in one ConfigMap, with the present ones.

  // The slots of a service in one epoch.
  struct Owners {
    bool unknown = false;  // The owners are not known.
    std::vector<std::string> names;
    std::vector<size_t> by_slot;  // The index in `names`. Empty if nobody owned a slot.
    bool MayBeOf(const std::string& replica, uint32_t slot) const {
      return unknown || (!by_slot.empty() && names[by_slot[slot]] == replica);
    }
  };

  void Restore(const storage::v1::AssignmentRecord& saved);
  // `before` was valid until `record`, which may have the same names. Nothing is known of the time before the first
  // assignment.
  void Add(const v1::Assignment& before, const storage::v1::AssignmentRecord& record);
  void Save(storage::v1::AssignmentRecord& record) const;

  Owners OwnersAt(const v1::Assignment& now, v1::ServiceKind service, int64_t epoch) const;

 private:
  std::deque<storage::v1::AssignmentRecord::Past> past_;
};

}  // namespace basalt::gateway
