#pragma once

// Decides which member owns which slot, in which epoch, how far the slot is on its way to its owner (slot_state.h), and
// which replicas have its records (correctness 4 and 5). Makes decisions only: no streams, no timers, no clock.
//
// Members of a service share its slots by rendezvous. A replica whose stream is gone keeps its place, and its slots,
// for a grace period: it usually comes back on the same disk. A service without a member waits `formation` after the
// first replica, so that replicas that start together share from the beginning. A later replica is a member at once.
//
// A change of the members is proposed as a record that must be saved before it is adopted. Its epoch is above every
// epoch that any replica reports. The record gives each slot a target, with the epoch in which the target last changed;
// another incarnation is another target. The target becomes the owner when the former owner has released the slot, is
// gone, or has another incarnation. After `release_timeout` the target becomes the owner in any case: the former
// owner's writes are refused then, so it can do no harm.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/base/slots.h"
#include "gateway/ownership/past_members.h"
#include "gateway/ownership/slot_state.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {

struct OwnershipOptions {
  absl::Duration grace = absl::Seconds(5);
  absl::Duration formation = absl::Milliseconds(500);
  absl::Duration release_timeout = absl::Seconds(30);
  // How many replicas of a service (v1::ServiceKind) are expected. Formation ends once they are attached, and waits for
  // them as long as the grace period.
  std::map<int, int> expected;
};

class Ownership {
 public:
  struct SlotHolder {
    std::string replica;  // Empty if there is no holder.
    std::string incarnation;
    int64_t epoch = 0;
    bool SameProcess(const v1::Member& member) const {
      return replica == member.replica() && incarnation == member.incarnation();
    }
  };
  struct Slot {
    SlotHolder owner;   // The member that may write.
    SlotHolder target;  // The member that is to write, by the newest assignment.
    SlotState state = SlotState::kUnowned;
    bool released = false;     // The owner of a slot in kReleasing has released it.
    bool moving = false;       // The slot has not been open yet since it came to this owner.
    std::string source;        // The replica from which the owner is fetching the records. Empty if there is none.
    int64_t source_epoch = 0;  // The epoch of the records that are fetched from `source`.
    // The sources whose records this owner could not fetch, with the epochs of the records.
    std::vector<std::pair<std::string, int64_t>> lost;
    int64_t records_epoch = 0;  // The epoch of the newest records that exist for certain.
    bool restored = false;      // An earlier leader gave the slot to a replica, so there may be records.
    absl::Time since;           // When the target changed.
  };
  // The slot has another owner.
  struct Change {
    v1::ServiceKind service;
    uint32_t slot;
    std::string from;  // The former owner; may be the same replica in another incarnation.
  };
  // Where the newest records of a slot are.
  struct Source {
    std::string replica;  // Empty if no replica has any.
    int64_t epoch = 0;
    bool wait = false;  // The replica that has the records, or may have them, is not attached at present.
  };

  explicit Ownership(OwnershipOptions options = {}) : options_(std::move(options)) {
    for (auto& slots : slots_) slots.resize(kSlotCount);
  }

  // Starts from the record that the last leader saved. Requires: nothing else was called before. Every member gets the
  // grace period.
  void Restore(const storage::v1::AssignmentRecord& saved, absl::Time now);

  // FAILED_PRECONDITION, naming both values, if the replica reports an epoch that cannot have been. The saved record
  // may be lost, so a replica that was a member may know later epochs: at most kMostEpochsAhead later, which is more
  // than changes of members make in years.
  absl::Status CheckEpochs(const v1::Hello& hello) const;
  static constexpr int64_t kMostEpochsAhead = int64_t{1} << 20;

  // A stream is open. Requires: no other stream of that replica is open, CheckEpochs is OK, and HasOtherSecret is
  // false. Returns for how many slots the replica holds records of an ownership that was not its own. Those records are
  // not believed.
  size_t Attach(const v1::Hello& hello, std::string_view name_secret_digest, absl::Time now);
  // Whether the name belongs to a member, or to an attached replica, with another name secret.
  bool HasOtherSecret(const v1::Member& member, std::string_view name_secret_digest) const;
  void Detach(const v1::Member& member, absl::Time now);
  void Release(const v1::Member& member, const v1::Released& released);
  // The replica is to be no member any more, unless no other replica stays.
  void Leave(const v1::Member& member);
  // The owner has stored records of the slot under its own epoch.
  void NoteRecords(v1::ServiceKind service, uint32_t slot);

  // ---- what the hub has observed and done of a slot on its way ----
  // No write of an earlier owner is under way.
  void NoteDrained(v1::ServiceKind service, uint32_t slot);
  // The owner was sent a grant, which names that replica as the source of the records.
  void NoteGranted(v1::ServiceKind service, uint32_t slot, const Source& source);
  // The owner has imported the records, or knows that they are lost: its own records are the newest. With `lost`, the
  // source is no source for this owner any more.
  void NoteTaken(v1::ServiceKind service, uint32_t slot, bool lost);
  // The owner's stream begins the slot. Returns true for the first time since the slot came to this owner.
  bool NoteOpened(v1::ServiceKind service, uint32_t slot);

  // ---- records ----
  // The source has removed these orphaned records.
  void Cleared(const v1::OrphanedRecords& leftovers);
  // Whether there were records: the slot had an owner before, and its service keeps records.
  bool HadRecords(v1::ServiceKind service, uint32_t slot) const;
  // Whether the member has records of the slot, of whatever epoch.
  bool Holds(const v1::Member& member, uint32_t slot) const;
  // Records that an attached replica other than the owner has of a slot that has begun: all are of past ownerships.
  struct Leftover {
    v1::Member source;
    int64_t epoch = 0;
  };
  std::vector<Leftover> FindLeftovers(v1::ServiceKind service, uint32_t slot) const;

  // ---- assignment ----
  // Returns a record with the members as they should be. Nullopt if they are so already.
  std::optional<storage::v1::AssignmentRecord> Propose(absl::Time now);
  // Requires: the record was proposed last, and is saved.
  void Adopt(const storage::v1::AssignmentRecord& record, absl::Time now);
  // Gives slots to their targets where that is permitted. To be called after each change and at NextDeadline.
  std::vector<Change> TransferReadySlots(absl::Time now);
  absl::Time NextDeadline() const;  // InfiniteFuture if there is none.

  const v1::Assignment& assignment() const { return assignment_; }
  const Slot& Get(v1::ServiceKind service, uint32_t slot) const { return slots_[service - 1][slot]; }
  Source FindSource(v1::ServiceKind service, uint32_t slot) const;
  // Whether the replica is attached, or has been gone for less than the grace period.
  bool IsPresent(v1::ServiceKind service, const std::string& replica) const;
  // Whether a replica of the service is attached and not about to leave.
  bool AnybodyStays(v1::ServiceKind service) const;
  // Returns the services of which a replica's grace period has ended since the last call.
  std::vector<v1::ServiceKind> TakeExpired() { return std::exchange(expired_, {}); }
  bool IsLeaving(v1::ServiceKind service, const std::string& replica) const;
  // Returns how many replicas are attached, and how many are expected (0 for any number).
  std::pair<int, int> Attached(v1::ServiceKind service) const;
  // FAILED_PRECONDITION, naming the present owner and the sender, if the sender is not the owner. INVALID_ARGUMENT if
  // there is no such service or slot.
  absl::Status Check(const v1::Owner& sender) const;

 private:
  struct Replica {
    v1::Member member;
    bool attached = false;
    bool active = false;
    bool leaving = false;
    bool keeps_records = false;
    bool awaited = false;            // The last leader saved it as a member, and it has not attached since.
    std::string name_secret_digest;  // Empty if not known.
    absl::Time since;                // When it attached or detached.
    std::vector<int64_t> held;       // By slot: the epoch of the records that it has. Empty if it has none of any slot.
    std::vector<int64_t> history;    // The same for slots of which it has history only.
    int64_t HistoryOf(uint32_t slot) const { return held.empty() ? 0 : held[slot] != 0 ? held[slot] : history[slot]; }
  };
  using Key = std::pair<int, std::string>;

  static void Apply(Slot& slot, SlotEvent event) { slot.state = NextState(slot.state, event); }
  void Expire(absl::Time now);
  void Activate(int service, absl::Time now);
  absl::Time FormationEnd(int service, absl::Time first) const;
  v1::Assignment Wanted() const;
  size_t TakeHeld(const v1::Hello& hello, Replica& replica) const;

  const OwnershipOptions options_;
  std::map<Key, Replica> replicas_;
  std::vector<v1::ServiceKind> expired_;
  v1::Assignment assignment_;
  PastMembers past_;
  int64_t highest_seen_ = 0;
  // The first time at which a slot has waited too long for its release.
  absl::Time next_overdue_ = absl::InfiniteFuture();
  std::array<std::vector<Slot>, kServiceKinds> slots_;
};

}  // namespace basalt::gateway
