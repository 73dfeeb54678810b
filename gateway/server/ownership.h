#pragma once

// Who owns which slot, in which epoch, how far the slot is on its way to its owner (slot_state.h), and who has its
// records (correctness 4 and 5). Decisions only: no streams, no timers, no clock.
//
// Members of a service share its slots by rendezvous. A replica whose stream is gone keeps its place, and its slots,
// for a grace period: it usually comes back on the same disk. A service that has no member waits `formation` after the
// first replica, so that replicas that start together share from the beginning; what comes later is a member at once.
//
// A change of the members is proposed as a record that is to be saved before it is adopted. Its epoch is above every
// one that any replica reports. It gives each slot a target, with the epoch in which the target last changed, another
// incarnation being another target. The target becomes the owner when the owner before has released the slot, is gone,
// or has another incarnation; after `release_timeout` in any case (its writes are refused then, so it can do no harm).
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
#include "gateway/route/routes.h"
#include "gateway/server/past_members.h"
#include "gateway/server/slot_state.h"

namespace basalt::gateway {

struct OwnershipOptions {
  absl::Duration grace = absl::Seconds(5);
  absl::Duration formation = absl::Milliseconds(500);
  absl::Duration release_timeout = absl::Seconds(30);
  // How many replicas of a service are expected (v1::ServiceKind): formation is over once they are there, and waits for
  // them as long as the grace period.
  std::map<int, int> expected;
};

class Ownership {
 public:
  struct SlotHolder {
    std::string replica;  // Empty = nobody.
    std::string incarnation;
    int64_t epoch = 0;
    bool SameProcess(const v1::Member& member) const {
      return replica == member.replica() && incarnation == member.incarnation();
    }
  };
  struct Slot {
    SlotHolder owner;   // Who may write.
    SlotHolder target;  // Who is to.
    SlotState state = SlotState::kUnowned;
    bool released = false;     // While it is kReleasing: by its owner.
    bool moving = false;       // It has not been open yet since it came to this owner.
    std::string source;        // Whom the owner was told to fetch the records from, until it has; empty: nobody.
    int64_t source_epoch = 0;  // Of what is fetched from there.
    // What this owner could not have from whom, by epoch.
    std::vector<std::pair<std::string, int64_t>> lost;
    int64_t records_epoch = 0;  // Of the newest records that there are for certain.
    bool restored = false;      // An earlier leader gave it to somebody: there may be records.
    absl::Time since;           // When the target changed.
  };
  // The slot has another owner.
  struct Change {
    v1::ServiceKind service;
    uint32_t slot;
    std::string from;  // The replica that had it; may be the same one in another incarnation.
  };
  // Who has the newest records of a slot.
  struct Source {
    std::string replica;  // Empty: nobody.
    int64_t epoch = 0;
    bool wait = false;  // Whoever has them, or may have them, is not attached at present.
  };

  explicit Ownership(OwnershipOptions options = {}) : options_(std::move(options)) {
    for (auto& slots : slots_) slots.resize(kSlotCount);
  }

  // From what the last leader has saved; requires: nothing has been told yet. Every member is given the grace period.
  void Restore(const storage::v1::AssignmentRecord& saved, absl::Time now);

  // FAILED_PRECONDITION, naming both values, where the replica reports an epoch that cannot have been. What was saved
  // may be lost, so that a replica that was a member may know of later ones: at most kMostEpochsAhead, which is more
  // than changes of members make in years.
  absl::Status CheckEpochs(const v1::Hello& hello) const;
  static constexpr int64_t kMostEpochsAhead = int64_t{1} << 20;

  // A stream is open. Requires: no other stream of that replica is; CheckEpochs, and not HasOtherSecret. The answer: of
  // how many slots the replica holds records of an ownership that was not its own; those are not believed.
  size_t Attach(const v1::Hello& hello, std::string_view name_secret_digest, absl::Time now);
  // The name is a member's, or that of one that is attached, with another name secret.
  bool HasOtherSecret(const v1::Member& member, std::string_view name_secret_digest) const;
  void Detach(const v1::Member& member, absl::Time now);
  void Release(const v1::Member& member, const v1::Released& released);
  // It is no member any more, unless nobody else is there.
  void Leave(const v1::Member& member);
  // The owner has stored records of the slot under its own epoch.
  void NoteRecords(v1::ServiceKind service, uint32_t slot);

  // ---- what the hub has seen and done of a slot on its way ----
  // No write of an earlier owner is under way.
  void NoteDrained(v1::ServiceKind service, uint32_t slot);
  // The owner was told to fetch the records from that replica.
  void NoteGranted(v1::ServiceKind service, uint32_t slot, const Source& source);
  // The owner has what it was to fetch, or knows that it is lost: its records are the newest. What is lost is no source
  // for this owner any more.
  void NoteTaken(v1::ServiceKind service, uint32_t slot, bool lost);
  // The owner's stream begins the slot. True: for the first time since the slot came to this owner.
  bool NoteOpened(v1::ServiceKind service, uint32_t slot);

  // ---- records ----
  // Nothing is left of them at the source.
  void Cleared(const v1::OrphanedRecords& leftovers);
  // Somebody had the slot before, whose service keeps records: there were some.
  bool HadRecords(v1::ServiceKind service, uint32_t slot) const;
  // Records of the slot, of whatever epoch.
  bool Holds(const v1::Member& member, uint32_t slot) const;
  // What attached replicas other than its owner have of a slot that has begun: all of it is over.
  struct Leftover {
    v1::Member source;
    int64_t epoch = 0;
  };
  std::vector<Leftover> FindLeftovers(v1::ServiceKind service, uint32_t slot) const;

  // ---- assignment ----
  // What the members are to be, if it is not what they are.
  std::optional<storage::v1::AssignmentRecord> Propose(absl::Time now);
  // Requires: proposed last, and saved.
  void Adopt(const storage::v1::AssignmentRecord& record, absl::Time now);
  // Gives slots to their targets where that may be. To be called after each change and at NextDeadline.
  std::vector<Change> TransferReadySlots(absl::Time now);
  absl::Time NextDeadline() const;  // InfiniteFuture = none.

  const v1::Assignment& assignment() const { return assignment_; }
  const Slot& Get(v1::ServiceKind service, uint32_t slot) const { return slots_[service - 1][slot]; }
  Source FindSource(v1::ServiceKind service, uint32_t slot) const;
  // Attached, or gone for less than the grace period.
  bool IsPresent(v1::ServiceKind service, const std::string& replica) const;
  // Of the service: attached, and not about to leave.
  bool AnybodyStays(v1::ServiceKind service) const;
  // Services of which a replica's grace period has ended since the last call.
  std::vector<v1::ServiceKind> TakeExpired() { return std::exchange(expired_, {}); }
  bool IsLeaving(v1::ServiceKind service, const std::string& replica) const;
  // How many are attached, of how many that are expected (0: any number).
  std::pair<int, int> Attached(v1::ServiceKind service) const;
  // FAILED_PRECONDITION naming the present owner and the sender. INVALID_ARGUMENT for what can be nobody.
  absl::Status Check(const v1::Owner& sender) const;

 private:
  struct Replica {
    v1::Member member;
    bool attached = false;
    bool active = false;
    bool leaving = false;
    bool keeps_records = false;
    bool awaited = false;            // Saved as a member by the last leader, and not seen since.
    std::string name_secret_digest;  // Empty: not known.
    absl::Time since;                // Attached or detached.
    std::vector<int64_t> held;       // By slot: epoch of the records that it has; empty = of none.
    std::vector<int64_t> history;    // The same, where it has nothing else.
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
  absl::Time next_overdue_ = absl::InfiniteFuture();  // Of the slots that wait for their release.
  std::array<std::vector<Slot>, kServiceKinds> slots_;
};

}  // namespace basalt::gateway
