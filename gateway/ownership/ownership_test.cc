#include "gateway/ownership/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;

v1::Member Replica(const std::string& name, const std::string& incarnation = "a",
                   v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
  v1::Member member;
  member.set_service(service);
  member.set_replica(name);
  member.set_incarnation(incarnation);
  return member;
}

v1::Hello Hello(const v1::Member& self, int64_t last_epoch = 0, int64_t held_epoch = 0) {
  v1::Hello hello;
  *hello.mutable_self() = self;
  hello.set_last_epoch(last_epoch);
  hello.set_keeps_records(true);
  if (held_epoch == 0) return hello;
  v1::RecordInventory& held = *hello.add_record_inventory();
  held.set_epoch(held_epoch);
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) held.add_slots(slot);
  return hello;
}

class OwnershipTest : public ::testing::Test {
 protected:
  struct Reconciled {
    bool assignment = false;
    std::vector<Ownership::Change> slots;
  };
  // Does what the hub does, with a store that saves at once.
  Reconciled Reconcile(Ownership& of, absl::Time at) {
    Reconciled reconciled;
    reconciled.slots = of.TransferReadySlots(at);
    const auto record = of.Propose(at);
    if (!record.has_value()) return reconciled;
    reconciled.assignment = true;
    saved = *record;
    of.Adopt(*record, at);
    for (auto& change : of.TransferReadySlots(at)) reconciled.slots.push_back(change);
    return reconciled;
  }
  void Attach(Ownership& of, const v1::Member& member, int64_t last_epoch, absl::Time at) {
    of.Attach(Hello(member, last_epoch), "digest", at);
  }
  // These replicas attach, and have their slots.
  void Begin(const std::vector<std::string>& replicas) {
    for (const std::string& replica : replicas) Attach(ownership, Replica(replica), 0, now);
    Reconcile(ownership, now);
  }
  // r-0 releases the first `count` slots by the second assignment.
  void Release(uint32_t count) {
    v1::Released released;
    released.set_epoch(2);
    for (uint32_t slot = 0; slot < count; ++slot) released.add_slots(slot);
    ownership.Release(Replica("r-0"), released);
  }
  std::map<std::string, int> Share(const Ownership& of) {
    std::map<std::string, int> share;
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) ++share[of.Get(kJob, slot).owner.replica];
    return share;
  }
  absl::Time now = absl::FromUnixSeconds(1'000'000);
  storage::v1::AssignmentRecord saved;
  Ownership ownership{{.formation = absl::ZeroDuration()}};
  Ownership after{{.formation = absl::ZeroDuration()}};  // The next leader's.
};

TEST_F(OwnershipTest, ReplicasThatStartTogetherShareTheSlots) {
  Ownership forming;
  Attach(forming, Replica("r-0"), 0, now);
  EXPECT_FALSE(Reconcile(forming, now).assignment);
  Attach(forming, Replica("r-1"), 0, now + absl::Milliseconds(300));
  EXPECT_EQ(forming.NextDeadline(), now + absl::Milliseconds(500));
  const auto changes = Reconcile(forming, now + absl::Milliseconds(500));
  EXPECT_TRUE(changes.assignment);
  EXPECT_EQ(changes.slots.size(), kSlotCount);
  EXPECT_GT(Share(forming)["r-0"], 400);
  EXPECT_GT(Share(forming)["r-1"], 400);
  EXPECT_EQ(forming.assignment().epoch(), 1);
}

TEST_F(OwnershipTest, FormationIsOverOnceTheExpectedOnesAreThere) {
  Ownership forming({.expected = {{kJob, 2}}});
  Attach(forming, Replica("r-0"), 0, now);
  EXPECT_FALSE(Reconcile(forming, now + absl::Seconds(4)).assignment) << "it waits longer than for just anybody";
  EXPECT_EQ(forming.Attached(kJob), std::pair(1, 2));
  Attach(forming, Replica("r-1"), 0, now + absl::Seconds(4));
  EXPECT_TRUE(Reconcile(forming, now + absl::Seconds(4)).assignment);
  Ownership alone({.expected = {{kJob, 2}}});
  Attach(alone, Replica("r-0"), 0, now);
  EXPECT_EQ(alone.NextDeadline(), now + absl::Seconds(5));
  EXPECT_TRUE(Reconcile(alone, now + absl::Seconds(5)).assignment) << "but not for ever";
}

TEST_F(OwnershipTest, AReplicaThatIsBackWithinTheGraceKeepsSlotsAndEpoch) {
  Begin({"r-0"});
  ownership.Detach(Replica("r-0"), now);
  Attach(ownership, Replica("r-0"), 1, now + absl::Seconds(4));
  const auto changes = Reconcile(ownership, now + absl::Seconds(9));
  EXPECT_FALSE(changes.assignment);
  EXPECT_TRUE(changes.slots.empty());
}

TEST_F(OwnershipTest, AnotherIncarnationIsAnotherOwner) {
  Attach(ownership, Replica("r-0", "a"), 0, now);
  Reconcile(ownership, now);
  v1::Owner owner;
  *owner.mutable_member() = Replica("r-0", "a");
  owner.set_slot(7);
  owner.set_slot_epoch(1);
  EXPECT_TRUE(ownership.Check(owner).ok());
  ownership.Detach(Replica("r-0", "a"), now);
  Attach(ownership, Replica("r-0", "b"), 1, now);
  EXPECT_EQ(Reconcile(ownership, now).slots.size(), kSlotCount);
  EXPECT_EQ(ownership.Get(kJob, 7).owner.epoch, 2);
  const absl::Status stale = ownership.Check(owner);
  EXPECT_EQ(stale.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(stale.message()), HasSubstr("belongs to 'r-0' (b) in epoch 2, not to 'r-0' (a) in epoch 1"));
}

TEST_F(OwnershipTest, OnlyTheSlotsOfTheLostReplicaMove) {
  for (const char* name : {"r-0", "r-1", "r-2"}) Attach(ownership, Replica(name), 0, now);
  Reconcile(ownership, now);
  const int lost = Share(ownership)["r-1"];
  ownership.Detach(Replica("r-1"), now);
  const auto changes = Reconcile(ownership, now + absl::Seconds(6));
  EXPECT_EQ(static_cast<int>(changes.slots.size()), lost);
  for (const auto& change : changes.slots) {
    EXPECT_EQ(change.from, "r-1");
    EXPECT_EQ(ownership.Get(kJob, change.slot).owner.epoch, 2);
  }
  int old_epoch = 0;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) old_epoch += ownership.Get(kJob, slot).owner.epoch == 1;
  EXPECT_EQ(old_epoch, static_cast<int>(kSlotCount) - lost) << "a change elsewhere refuses nothing";
}

TEST_F(OwnershipTest, TheEpochIsAboveEveryOneReported) {
  Attach(ownership, Replica("r-0"), 41, now);
  Reconcile(ownership, now);
  EXPECT_EQ(ownership.assignment().epoch(), 42);
  Attach(ownership, Replica("q-0", "a", v1::SERVICE_KIND_QUEUE), 99, now);
  Reconcile(ownership, now);
  EXPECT_EQ(ownership.assignment().epoch(), 100);
  EXPECT_EQ(ownership.Get(kJob, 0).owner.epoch, 100) << "what was saved is lost, the slots' epochs with it";
}

TEST_F(OwnershipTest, ASlotMovesOnlyWhenItsLivingOwnerReleasesIt) {
  Begin({"r-0"});
  Attach(ownership, Replica("r-1"), 0, now);
  auto changes = Reconcile(ownership, now);
  EXPECT_TRUE(changes.assignment);
  EXPECT_TRUE(changes.slots.empty());
  Release(100);
  changes = Reconcile(ownership, now);
  EXPECT_GT(changes.slots.size(), 20u);
  for (const auto& change : changes.slots) EXPECT_LT(change.slot, 100u);
  v1::Released released;
  released.set_epoch(1);
  released.add_slots(500);
  ownership.Release(Replica("r-0"), released);
  EXPECT_TRUE(Reconcile(ownership, now).slots.empty()) << "of an older assignment";
}

TEST_F(OwnershipTest, ANewStreamHoldsNothingThatIsToMove) {
  Begin({"r-0"});
  Begin({"r-1"});
  EXPECT_EQ(Share(ownership)["r-1"], 0);
  ownership.Detach(Replica("r-0"), now);
  EXPECT_TRUE(Reconcile(ownership, now).slots.empty());
  Attach(ownership, Replica("r-0"), 2, now);
  const size_t moved = Reconcile(ownership, now).slots.size();
  EXPECT_EQ(static_cast<int>(moved), Share(ownership)["r-1"]);
  EXPECT_GT(moved, 400u);
}

TEST_F(OwnershipTest, AnOwnerThatDoesNotReleaseLosesTheSlotInTheEnd) {
  Begin({"r-0"});
  Begin({"r-1"});
  EXPECT_EQ(ownership.NextDeadline(), now + absl::Seconds(30));
  EXPECT_TRUE(Reconcile(ownership, now + absl::Seconds(29)).slots.empty());
  EXPECT_GT(Reconcile(ownership, now + absl::Seconds(30)).slots.size(), 400u);
  EXPECT_EQ(ownership.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(OwnershipTest, ASlotThatReturnsBeforeItWasReleasedBeginsAnewAtItsOwner) {
  Begin({"r-0"});
  Attach(ownership, Replica("r-1"), 0, now);
  EXPECT_TRUE(Reconcile(ownership, now).slots.empty());
  ownership.Detach(Replica("r-1"), now);
  const auto back = Reconcile(ownership, now + absl::Seconds(5));
  EXPECT_TRUE(back.assignment);
  EXPECT_GT(back.slots.size(), 400u);
  for (const auto& change : back.slots) EXPECT_EQ(ownership.Get(kJob, change.slot).owner.epoch, 3);
  EXPECT_EQ(Share(ownership)["r-0"], static_cast<int>(kSlotCount));
}

TEST_F(OwnershipTest, AReleaseCountsAlsoAfterAChangeElsewhere) {
  Begin({"r-0"});
  Begin({"r-1"});
  Attach(ownership, Replica("q-0", "a", v1::SERVICE_KIND_QUEUE), 0, now);
  Reconcile(ownership, now);
  ASSERT_EQ(ownership.assignment().epoch(), 3);
  Release(kSlotCount);
  EXPECT_GT(Reconcile(ownership, now).slots.size(), 400u);
}

TEST_F(OwnershipTest, WhoLeavesGivesItsSlotsToThoseWhoStay) {
  Begin({"r-0", "r-1"});
  ownership.Leave(Replica("r-1"));
  EXPECT_TRUE(Reconcile(ownership, now).assignment);
  EXPECT_EQ(ownership.assignment().members_size(), 1);
  EXPECT_GT(Share(ownership)["r-1"], 400) << "not released yet";
  ownership.Leave(Replica("r-0"));
  EXPECT_FALSE(ownership.AnybodyStays(kJob));
  Reconcile(ownership, now);
  EXPECT_EQ(ownership.assignment().members_size(), 2) << "nobody is left to give anything to";
}

TEST_F(OwnershipTest, ASlotPassesFromOwnerToOwnerThroughItsStates) {
  const auto slot = [&]() -> const Ownership::Slot& { return ownership.Get(kJob, 7); };
  EXPECT_TRUE(slot().state == SlotState::kUnowned);
  Attach(ownership, Replica("r-0"), 0, now);
  Reconcile(ownership, now);
  EXPECT_TRUE(slot().state == SlotState::kDraining) << "nobody has to release what is nobody's";
  ownership.NoteDrained(kJob, 7);
  EXPECT_TRUE(slot().state == SlotState::kWaiting);
  EXPECT_TRUE(ownership.NoteOpened(kJob, 7));
  EXPECT_TRUE(slot().state == SlotState::kOpen);
  ownership.NoteRecords(kJob, 7);

  ownership.Detach(Replica("r-0"), now);
  EXPECT_TRUE(slot().state == SlotState::kWaiting);
  Attach(ownership, Replica("r-0"), 1, now);
  ownership.NoteRecords(kJob, 7);
  EXPECT_FALSE(ownership.NoteOpened(kJob, 7)) << "it has not moved";

  ownership.Leave(Replica("r-0"));
  Begin({"r-1"});
  EXPECT_TRUE(slot().state == SlotState::kReleasing);
  v1::Released released;
  released.set_epoch(2);
  released.add_slots(7);
  ownership.Release(Replica("r-0"), released);
  Reconcile(ownership, now);
  EXPECT_TRUE(slot().state == SlotState::kDraining);
  ownership.NoteDrained(kJob, 7);
  ASSERT_EQ(ownership.FindSource(kJob, 7).replica, "r-0");
  ownership.NoteGranted(kJob, 7, ownership.FindSource(kJob, 7));
  EXPECT_TRUE(slot().state == SlotState::kHandingOver);
  EXPECT_EQ(slot().source, "r-0");

  ownership.Detach(Replica("r-0"), now);
  EXPECT_TRUE(slot().state == SlotState::kWaiting) << "the source has gone";
  EXPECT_EQ(slot().source, "");
  ownership.NoteGranted(kJob, 7, ownership.FindSource(kJob, 7));
  ownership.Detach(Replica("r-1"), now);
  EXPECT_TRUE(slot().state == SlotState::kWaiting) << "the owner has gone";
  EXPECT_EQ(slot().source, "");
  Attach(ownership, Replica("r-1"), 2, now);
  ownership.NoteGranted(kJob, 7, ownership.FindSource(kJob, 7));
  ownership.NoteTaken(kJob, 7, /*lost=*/false);
  EXPECT_TRUE(slot().state == SlotState::kWaiting);
  EXPECT_EQ(slot().source, "");
  EXPECT_EQ(ownership.FindSource(kJob, 7).replica, "r-1");
  EXPECT_TRUE(ownership.NoteOpened(kJob, 7)) << "it has moved";
  EXPECT_TRUE(slot().state == SlotState::kOpen);
}

// The owner may still report that it has the records that it was to fetch.
TEST_F(OwnershipTest, ASlotThatIsTakenAwayWhileItsRecordsTravelKeepsTheirSource) {
  Begin({"r-0"});
  ownership.NoteDrained(kJob, 7);
  ownership.NoteGranted(kJob, 7, {.replica = "r-9"});
  Attach(ownership, Replica("r-1"), 0, now);
  ownership.Leave(Replica("r-0"));
  Reconcile(ownership, now);
  EXPECT_TRUE(ownership.Get(kJob, 7).state == SlotState::kReleasing);
  EXPECT_EQ(ownership.Get(kJob, 7).source, "r-9");
  ownership.NoteTaken(kJob, 7, /*lost=*/false);
  EXPECT_TRUE(ownership.Get(kJob, 7).state == SlotState::kReleasing);
  EXPECT_EQ(ownership.Get(kJob, 7).source, "");
  EXPECT_EQ(ownership.Get(kJob, 7).records_epoch, 1);
}

TEST_F(OwnershipTest, SlotsThatTheLastMemberLeavesAreUnowned) {
  Attach(ownership, Replica("r-0"), 0, now);
  Reconcile(ownership, now);
  ownership.NoteDrained(kJob, 7);
  ownership.Detach(Replica("r-0"), now);
  Reconcile(ownership, now + absl::Seconds(10));
  EXPECT_TRUE(ownership.Get(kJob, 7).state == SlotState::kUnowned);
  EXPECT_EQ(ownership.Get(kJob, 7).owner.replica, "");
  after.Restore(saved, now);
  EXPECT_TRUE(after.Get(kJob, 7).state == SlotState::kUnowned);
}

TEST_F(OwnershipTest, ANewLeaderDoesNotKnowWhatWritesAreUnderWay) {
  Begin({"r-0"});
  after.Restore(saved, now);
  EXPECT_TRUE(after.Get(kJob, 7).state == SlotState::kDraining);
  after.NoteDrained(kJob, 7);
  after.Attach(Hello(Replica("r-0"), 1, 1), "digest", now);
  EXPECT_FALSE(after.NoteOpened(kJob, 7)) << "it has not moved";
}

TEST_F(OwnershipTest, TheNewestRecordsAreThoseOfTheLastOwnerThatStoredAny) {
  Begin({"r-0"});
  EXPECT_EQ(ownership.FindSource(kJob, 7).replica, "") << "there are none";
  EXPECT_FALSE(ownership.FindSource(kJob, 7).wait);
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) ownership.NoteRecords(kJob, slot);
  ownership.Leave(Replica("r-0"));
  Begin({"r-1"});
  Release(kSlotCount);
  Reconcile(ownership, now);
  ASSERT_EQ(ownership.Get(kJob, 7).owner.replica, "r-1");
  const auto source = ownership.FindSource(kJob, 7);
  EXPECT_EQ(source.replica, "r-0");
  EXPECT_EQ(source.epoch, 1);
  EXPECT_FALSE(source.wait);
  ownership.NoteRecords(kJob, 7);
  EXPECT_EQ(ownership.FindSource(kJob, 7).replica, "r-1");
}

TEST_F(OwnershipTest, ADiskFromBeforeTheLastMoveHasNoRecords) {
  Begin({"r-0"});
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) ownership.NoteRecords(kJob, slot);
  ownership.Detach(Replica("r-0"), now);
  Attach(ownership, Replica("r-1"), 0, now);
  Reconcile(ownership, now + absl::Seconds(5));
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) ownership.NoteRecords(kJob, slot);
  ownership.Detach(Replica("r-1"), now + absl::Seconds(6));
  ownership.Attach(Hello(Replica("r-0", "b"), 2, 1), "digest", now + absl::Seconds(6));
  Reconcile(ownership, now + absl::Seconds(11));
  ASSERT_EQ(ownership.Get(kJob, 7).owner.replica, "r-0");
  const auto source = ownership.FindSource(kJob, 7);
  EXPECT_EQ(source.replica, "") << "r-1 has written since, and is gone";
  EXPECT_FALSE(source.wait);
}

TEST_F(OwnershipTest, AnotherIncarnationOnTheSameDiskHasItsRecords) {
  Begin({"r-0"});
  // The owner's first batches were never acknowledged: the inventory of its disk decides.
  ownership.Detach(Replica("r-0"), now);
  ownership.Attach(Hello(Replica("r-0", "b"), 1, 1), "digest", now);
  Reconcile(ownership, now);
  const auto source = ownership.FindSource(kJob, 7);
  EXPECT_EQ(source.replica, "r-0");
  EXPECT_EQ(source.epoch, 1);
}

TEST_F(OwnershipTest, ANewLeaderGoesOnWhereTheLastOneStopped) {
  Begin({"r-0", "r-1"});
  Attach(ownership, Replica("q-0", "a", v1::SERVICE_KIND_QUEUE), 0, now);
  Reconcile(ownership, now);
  const auto share = Share(ownership);

  after.Restore(saved, now);
  EXPECT_EQ(after.assignment().epoch(), 2);
  EXPECT_EQ(Share(after), share);
  EXPECT_FALSE(Reconcile(after, now + absl::Seconds(4)).assignment) << "each has the grace period";
  after.Attach(Hello(Replica("r-0"), 2, 1), "digest", now + absl::Seconds(4));
  EXPECT_FALSE(Reconcile(after, now + absl::Seconds(4)).assignment);
  uint32_t mine = 0;
  while (after.Get(kJob, mine).owner.replica != "r-0") ++mine;
  EXPECT_EQ(after.Get(kJob, mine).owner.epoch, 1) << "its epoch is its owner's, not the leader's";
  EXPECT_EQ(after.FindSource(kJob, mine).replica, "r-0");
  EXPECT_FALSE(after.FindSource(kJob, mine).wait);
  EXPECT_TRUE(Reconcile(after, now + absl::Seconds(5)).assignment) << "the others are gone";
  EXPECT_EQ(Share(after)["r-0"], static_cast<int>(kSlotCount));
}

// A newer release, or a person who edits the object, may save such members.
TEST_F(OwnershipTest, MembersOfServicesThatThereAreNotAreNotRestored) {
  Begin({"r-0"});
  for (const int service : {0, -1, 4}) {
    auto& member = *saved.add_members();
    member.set_service(service);
    member.set_replica("x-0");
    saved.add_slots()->set_service(service);
  }
  after.Restore(saved, now);
  ASSERT_EQ(after.assignment().members_size(), 1);
  EXPECT_EQ(after.assignment().members(0).replica(), "r-0");
  after.Attach(Hello(Replica("r-0"), 1, 1), "digest", now);
  EXPECT_FALSE(Reconcile(after, now + absl::Minutes(1)).assignment) << "nobody else is waited for";
}

TEST_F(OwnershipTest, ANewLeaderWaitsForWhoeverMayHaveTheRecords) {
  Begin({"r-0", "r-1"});
  after.Restore(saved, now);
  uint32_t mine = 0;
  while (after.Get(kJob, mine).owner.replica != "r-0") ++mine;
  after.Attach(Hello(Replica("r-0"), 1), "digest", now);
  EXPECT_TRUE(after.FindSource(kJob, mine).wait) << "the slot may have been on its way from r-1";
  after.Attach(Hello(Replica("r-1"), 1), "digest", now);
  EXPECT_FALSE(after.FindSource(kJob, mine).wait);
  EXPECT_EQ(after.FindSource(kJob, mine).replica, "");
}

// All members had left when the last leader saved: a new replica has none of the earlier records.
TEST_F(OwnershipTest, AnUnownedSlotHadRecordsBefore) {
  Begin({"r-0"});
  ownership.Detach(Replica("r-0"), now);
  Reconcile(ownership, now + absl::Seconds(10));
  ASSERT_EQ(saved.members_size(), 0);
  after.Restore(saved, now);
  v1::Hello hello = Hello(Replica("r-1"));
  hello.set_keeps_records(true);
  after.Attach(hello, "digest", now);
  Reconcile(after, now);
  EXPECT_EQ(after.Get(kJob, 7).owner.replica, "r-1");
  EXPECT_TRUE(after.HadRecords(kJob, 7));
}

TEST_F(OwnershipTest, RecordsOfOthersAreLeftoversOnceTheOwnerHasBegun) {
  ownership.Attach(Hello(Replica("r-0"), 5), "digest", now);  // Nobody knows which replica owned which slot until then.
  Reconcile(ownership, now);
  v1::Hello old = Hello(Replica("r-1"), 5, 3);
  old.mutable_record_inventory(0)->mutable_slots()->Truncate(2);  // 0 and 1 in full, and the history of 2.
  v1::RecordInventory& history = *old.add_record_inventory();
  history.set_epoch(2);
  history.set_only_history(true);
  history.add_slots(2);
  ownership.Attach(old, "digest", now);
  ownership.Leave(Replica("r-1"));
  Reconcile(ownership, now);
  const auto orphaned = [&](uint32_t slot) {
    std::vector<std::pair<std::string, int64_t>> of;
    for (const auto& leftover : ownership.FindLeftovers(kJob, slot)) {
      of.emplace_back(leftover.source.replica(), leftover.epoch);
    }
    return of;
  };
  EXPECT_TRUE(orphaned(0).empty()) << "they may be the newest yet";
  for (uint32_t slot = 0; slot < 4; ++slot) ownership.NoteRecords(kJob, slot);
  using Orphaned = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(orphaned(0), (Orphaned{{"r-1", 3}}));
  EXPECT_EQ(orphaned(2), (Orphaned{{"r-1", 2}}));
  EXPECT_TRUE(orphaned(3).empty());
  EXPECT_TRUE(ownership.Holds(Replica("r-1"), 2));

  v1::OrphanedRecords cleared;
  *cleared.mutable_source() = Replica("r-1");
  cleared.add_inventory()->set_epoch(3);
  cleared.mutable_inventory(0)->add_slots(0);
  cleared.mutable_inventory(0)->add_slots(2);
  cleared.mutable_inventory(0)->add_slots(kSlotCount);
  ownership.Cleared(cleared);
  EXPECT_TRUE(orphaned(0).empty());
  EXPECT_EQ(orphaned(2), (Orphaned{{"r-1", 2}})) << "of another epoch";
  ownership.Detach(Replica("r-1"), now);
  EXPECT_TRUE(orphaned(1).empty()) << "nobody to ask";
}

TEST_F(OwnershipTest, RecordsAreBelievedOfWhoeverHadTheSlotInThatEpoch) {
  Begin({"r-0", "r-1"});
  const auto share = Share(ownership);
  ownership.Leave(Replica("r-1"));
  Reconcile(ownership, now);
  const int64_t shared = 1, alone = 2;
  const struct {
    const char* replica;
    int64_t epoch;
    size_t refused;
  } rows[] = {
      {"r-0", shared, static_cast<size_t>(share.at("r-1"))},
      {"r-1", shared, static_cast<size_t>(share.at("r-0"))},
      {"r-2", shared, kSlotCount},
      {"r-0", alone, 0},
      {"r-1", alone, kSlotCount},
      {"r-2", alone, kSlotCount},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.replica) + " in epoch " + std::to_string(row.epoch));
    Ownership next({.formation = absl::ZeroDuration()});
    next.Restore(saved, now);
    EXPECT_EQ(next.Attach(Hello(Replica(row.replica), 2, row.epoch), "digest", now), row.refused);
    size_t held = 0;
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) held += next.Holds(Replica(row.replica), slot) ? 1 : 0;
    EXPECT_EQ(held, kSlotCount - row.refused);
  }
}

TEST_F(OwnershipTest, AnEpochThatWasNeverSavedIsBelievedOfMembersAlone) {
  EXPECT_TRUE(ownership.CheckEpochs(Hello(Replica("r-1"), 41)).ok()) << "nothing is saved";
  Begin({"r-0"});
  after.Restore(saved, now);
  EXPECT_TRUE(after.CheckEpochs(Hello(Replica("r-0"), 41)).ok()) << "what was saved last may be lost";
  EXPECT_TRUE(after.CheckEpochs(Hello(Replica("r-1"), 1)).ok());
  EXPECT_EQ(after.CheckEpochs(Hello(Replica("r-1"), 2)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(after.CheckEpochs(Hello(Replica("r-1"), 0, 2)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(OwnershipTest, ANameIsItsSecretsAlsoForTheNextLeader) {
  Begin({"r-0"});
  after.Restore(saved, now);
  EXPECT_TRUE(after.HasOtherSecret(Replica("r-0"), "another"));
  EXPECT_FALSE(after.HasOtherSecret(Replica("r-0"), "digest"));
  EXPECT_FALSE(after.HasOtherSecret(Replica("r-1"), "another"));
  Reconcile(after, now + absl::Seconds(5));
  EXPECT_FALSE(after.HasOtherSecret(Replica("r-0"), "another")) << "it is no member any more";
}

TEST_F(OwnershipTest, AnOwnerThatCanBeNobodyIsInvalid) {
  v1::Owner owner;
  EXPECT_EQ(ownership.Check(owner).code(), absl::StatusCode::kInvalidArgument);
  owner.mutable_member()->set_service(kJob);
  EXPECT_THAT(std::string(ownership.Check(owner).message()), HasSubstr("belongs to nobody"));
}

}  // namespace
}  // namespace basalt::gateway
