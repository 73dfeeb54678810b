#pragma once

// Who owns which slot, in which epoch (correctness 4 and 5). Decisions only: no streams, no timers, no clock.
//
// Members of a service share its slots by rendezvous. A replica whose stream is gone keeps its place, and its slots,
// for a grace period: it usually comes back on the same disk. A service that has no member waits `formation` after the
// first replica, so that replicas that start together share from the beginning. What comes later is a spare until
// nobody is left, or, with `rebalance`, becomes a member at once: a slot that then moves from a living owner waits for
// that owner's Released, or for a new stream of it (which holds nothing yet), at most `release_timeout` (its writes are
// refused then, so it can do no harm). Every change of the members is a new epoch, above every one that any replica
// reports.
//
// A slot's own epoch is the one in which its owner last changed, another incarnation being another owner.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/slots.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {

struct OwnershipOptions {
  absl::Duration grace = absl::Seconds(5);
  absl::Duration formation = absl::Milliseconds(500);
  bool rebalance = false;
  absl::Duration release_timeout = absl::Seconds(30);
};

class Ownership {
 public:
  struct Slot {
    std::string replica;  // Empty = nobody.
    std::string incarnation;
    int64_t epoch = 0;
    bool released = false;  // By an owner from which it is to move.
  };
  struct Change {
    v1::ServiceKind service;
    uint32_t slot;
    std::string from;  // The replica that had it; may be the same one in another incarnation.
  };
  struct Changes {
    bool assignment = false;
    std::vector<Change> slots;
  };

  explicit Ownership(OwnershipOptions options = {}) : options_(options) {
    for (auto& slots : slots_) slots.resize(kSlotCount);
  }

  // A stream is open. Requires: no other stream of that replica is.
  void Attach(const v1::Member& member, int64_t last_epoch, absl::Time now);
  void Detach(const v1::Member& member, absl::Time now);
  void Release(const v1::Member& member, const v1::Released& released);

  // Brings members and slots in line with what is attached. To be called after each of the above and at NextDeadline.
  Changes Settle(absl::Time now);
  absl::Time NextDeadline() const;  // InfiniteFuture = none.

  const v1::Assignment& assignment() const { return assignment_; }
  const Slot& Get(v1::ServiceKind service, uint32_t slot) const { return slots_[service - 1][slot]; }
  // Attached, or gone for less than the grace period.
  bool IsPresent(v1::ServiceKind service, const std::string& replica) const;
  // FAILED_PRECONDITION naming the present owner and the sender. INVALID_ARGUMENT for what can be nobody.
  absl::Status Check(const v1::Owner& sender) const;

 private:
  struct Replica {
    v1::Member member;
    bool attached = false;
    bool active = false;
    absl::Time since;  // Attached or detached.
  };
  using Key = std::pair<int, std::string>;

  void Expire(absl::Time now);
  void Activate(int service, absl::Time now);
  v1::Assignment Wanted() const;
  void SettleSlots(int service, absl::Time now, Changes& changes);

  const OwnershipOptions options_;
  std::map<Key, Replica> replicas_;
  v1::Assignment assignment_;
  int64_t highest_seen_ = 0;
  absl::Time assigned_at_;
  bool awaits_release_ = false;
  std::array<std::vector<Slot>, kServiceKinds> slots_;
};

}  // namespace basalt::gateway
