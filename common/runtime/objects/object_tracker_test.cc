#include "common/runtime/objects/object_tracker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::runtime {
namespace {

using Trace = std::vector<std::string>;

constexpr uint32_t kSlot = 7;
constexpr char kWatch[] = "pods/job";

// Records the calls of the sink: "+uid@rv key" for a state, "-uid@rv reason key" for an end.
class ObjectTrackerTest : public ::testing::Test, public ObjectTracker::Sink {
 protected:
  ObjectTrackerTest() : tracker_(*this) {}

  void OnState(uint32_t slot, const std::string& key, const std::string&, kube::v1::Object&& object) override {
    EXPECT_EQ(slot, kSlot);
    trace_.push_back(fmt::format("+{}@{} {}", object.pod().uid(), object.pod().resource_version(), key));
  }
  void OnGone(uint32_t slot, const std::string& key, const Gone& gone) override {
    EXPECT_EQ(slot, kSlot);
    const char* reasons[] = {"deleted", "left", "absent"};
    trace_.push_back(fmt::format("-{}@{} {} {}{}", gone.uid, gone.resource_version,
                                 reasons[static_cast<int>(gone.reason)], key, gone.last != nullptr ? " last" : ""));
  }

  static kube::v1::Object Pod(const std::string& uid, int64_t rv, const std::string& name) {
    kube::v1::Object object;
    object.mutable_pod()->set_namespace_("ns");
    object.mutable_pod()->set_name(name);
    object.mutable_pod()->set_uid(uid);
    object.mutable_pod()->set_resource_version(rv);
    object.mutable_pod()->set_job_name("job");
    return object;
  }
  void State(const std::string& uid, int64_t rv, const std::string& name = "", const std::string& key = "ns/job") {
    gateway::v1::ObjectState state;
    state.set_slot(kSlot);
    state.set_watch(kWatch);
    state.set_routing_key(key);
    *state.mutable_object() = Pod(uid, rv, name.empty() ? uid : name);
    tracker_.State(std::move(state));
  }
  // `seen` is the version at which the object was last observed, if only its absence showed its end; 0 for `rv`.
  void Tomb(const std::string& uid, int64_t rv, bool left = false, const std::string& name = "", int64_t seen = 0) {
    gateway::v1::Tombstone tombstone;
    tombstone.set_observed_version(seen != 0 ? seen : rv);
    tombstone.set_slot(kSlot);
    tombstone.set_watch(kWatch);
    tombstone.set_routing_key("ns/job");
    tombstone.set_reason(left ? gateway::v1::Tombstone::REASON_LEFT : gateway::v1::Tombstone::REASON_DELETED);
    *tombstone.mutable_last() = Pod(uid, rv, name.empty() ? uid : name);
    tracker_.Tombstone(tombstone);
  }
  bool End(int64_t mark, gateway::v1::Mark::State state = gateway::v1::Mark::STATE_READY) {
    gateway::v1::SlotEnd end;
    end.set_slot(kSlot);
    AddMark(*end.add_marks(), mark, state);
    return tracker_.End(end);
  }
  std::vector<uint32_t> Progress(int64_t mark, gateway::v1::Mark::State state = gateway::v1::Mark::STATE_READY) {
    gateway::v1::Progress progress;
    AddMark(*progress.add_marks(), mark, state);
    return tracker_.Progress(progress);
  }
  static void AddMark(gateway::v1::Mark& mark, int64_t rv, gateway::v1::Mark::State state) {
    mark.set_watch(kWatch);
    mark.set_resource_version(rv);
    mark.set_state(state);
  }
  void Open(const std::vector<std::pair<std::string, int64_t>>& known = {}) {
    std::vector<KnownObject> objects;
    for (const auto& [uid, rv] : known) objects.push_back({kWatch, "ns/job", uid, "ns", uid, rv});
    tracker_.Open(kSlot, objects);
    tracker_.Begin(kSlot);
  }
  // The slot has nothing, as of version 40.
  void OpenListed() {
    Open();
    End(40);
  }
  bool Own(const std::string& uid, int64_t rv, const std::string& name = "") {
    return tracker_.OwnState(kSlot, "ns/job", Pod(uid, rv, name.empty() ? uid : name));
  }
  Trace Take() { return std::exchange(trace_, {}); }

  Trace trace_;
  ObjectTracker tracker_;
};

// ---- absence ----

TEST_F(ObjectTrackerTest, AnObjectTheSnapshotLacksIsGoneIfTheMarkHasPassedIt) {
  struct Case {
    const char* name;
    int64_t known;
    int64_t mark;
    gateway::v1::Mark::State state;
    Trace out;
  };
  const auto ready = gateway::v1::Mark::STATE_READY;
  const Case cases[] = {
      {"mark above", 50, 60, ready, {"-a@50 absent ns/job"}},
      {"mark equal", 50, 50, ready, {"-a@50 absent ns/job"}},
      {"mark below", 50, 49, ready, {}},
      {"no mark", 50, 0, ready, {}},
      {"kind not served", 50, 60, gateway::v1::Mark::STATE_ABSENT, {}},
      {"kind forbidden", 50, 60, gateway::v1::Mark::STATE_FORBIDDEN, {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    tracker_.Close(kSlot);
    Open({{"a", c.known}});
    End(c.mark, c.state);
    EXPECT_EQ(Take(), c.out);
    EXPECT_EQ(tracker_.objects(), c.out.empty() ? 1U : 0U);
  }
}

TEST_F(ObjectTrackerTest, MarksOfANewStreamSayNothingOfASlotBeforeItsSnapshot) {
  OpenListed();
  tracker_.StartStream();
  Progress(100);  // The old stream is lost, and with it its messages up to here.
  EXPECT_TRUE(Own("a", 90));
  EXPECT_EQ(tracker_.objects(), 1U);
  Take();
  tracker_.Begin(kSlot);
  End(80);
  EXPECT_EQ(Take(), Trace{}) << "the snapshot was taken before the object was there";
  Progress(90);
  EXPECT_EQ(Take(), Trace{"-a@90 absent ns/job"});
}

TEST_F(ObjectTrackerTest, AnUncertainObjectIsSettledByALaterMark) {
  Open({{"a", 50}});
  End(40);
  Progress(49);
  EXPECT_EQ(Take(), Trace{});
  Progress(50);
  EXPECT_EQ(Take(), Trace{"-a@50 absent ns/job"});
  Progress(60);
  EXPECT_EQ(Take(), Trace{});
}

TEST_F(ObjectTrackerTest, AnUncertainObjectIsSettledByAState) {
  Open({{"a", 50}});
  End(40);
  State("a", 45);
  Progress(60);
  EXPECT_EQ(Take(), Trace{}) << "it is there, though what was shown is older than what is known";
  State("a", 61);
  EXPECT_EQ(Take(), Trace{"+a@61 ns/job"});
}

// A read finds the object while the watches lag.
TEST_F(ObjectTrackerTest, AStoredObjectIsReportedByAnAnswerOfItsVersion) {
  Open({{"a", 50}});
  End(40);
  EXPECT_TRUE(Own("a", 50));
  EXPECT_EQ(Take(), Trace{"+a@50 ns/job"});
  EXPECT_TRUE(Own("a", 50));
  EXPECT_EQ(Take(), Trace{}) << "once";
  Progress(50);
  EXPECT_EQ(Take(), Trace{"-a@50 absent ns/job"}) << "only the watch can say whether it is there still";
}

TEST_F(ObjectTrackerTest, AnOwnWriteNewerThanTheMarkKeepsTheObjectAlive) {
  Open({{"a", 50}});
  EXPECT_TRUE(Own("a", 70));
  End(60);
  EXPECT_EQ(Take(), Trace{"+a@70 ns/job"}) << "the mark 60 says nothing about 70";
  Progress(69);
  EXPECT_EQ(Take(), Trace{});
  Progress(70);
  EXPECT_EQ(Take(), Trace{"-a@70 absent ns/job"});
}

TEST_F(ObjectTrackerTest, AnObjectOfOursIsUncertainUntilTheWatchShowsIt) {
  Open();
  End(60);
  EXPECT_TRUE(Own("shown", 70));
  EXPECT_TRUE(Own("never", 71));
  State("shown", 70);
  EXPECT_EQ(Take(), (Trace{"+shown@70 ns/job", "+never@71 ns/job"}));
  Progress(80);
  EXPECT_EQ(Take(), Trace{"-never@71 absent ns/job"});
}

TEST_F(ObjectTrackerTest, AnAnswerThatTheWatchHasOvertakenIsOfAnObjectThatIsGone) {
  Open();
  End(60);
  Progress(100);
  EXPECT_FALSE(Own("a", 90));
  EXPECT_EQ(Take(), (Trace{"+a@90 ns/job", "-a@90 absent ns/job last"}));
}

TEST_F(ObjectTrackerTest, ProgressToldDuringASnapshotDoesNotSettleItsSlot) {
  Open({{"a", 50}});
  Progress(100);
  EXPECT_EQ(Take(), Trace{});
  State("a", 55);
  End(60);
  EXPECT_EQ(Take(), Trace{"+a@55 ns/job"});
}

TEST_F(ObjectTrackerTest, AForbiddenKindHoldsItsSlotBackUntilItIsServed) {
  Open({{"a", 50}});
  EXPECT_FALSE(End(0, gateway::v1::Mark::STATE_FORBIDDEN));
  EXPECT_EQ(tracker_.Forbidden(), std::set<std::string>{kWatch});
  EXPECT_EQ(Progress(0, gateway::v1::Mark::STATE_FORBIDDEN), std::vector<uint32_t>{});
  EXPECT_EQ(Progress(60), std::vector<uint32_t>{kSlot});
  EXPECT_EQ(Take(), Trace{"-a@50 absent ns/job"});
}

TEST_F(ObjectTrackerTest, AGatewayBehindTheLastOneDoesNotBringBackWhatHasGone) {
  OpenListed();
  State("a", 50);
  Tomb("a", 60);
  Progress(70);
  Take();
  tracker_.Begin(kSlot);
  State("a", 50);
  Tomb("a", 60);
  End(55);
  EXPECT_EQ(Take(), Trace{});
}

// ---- order ----

TEST_F(ObjectTrackerTest, OlderStatesAreIgnoredAndTheSameOneComesOnce) {
  Open();
  State("a", 50);
  State("a", 49);
  State("a", 50);
  State("a", 51);
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "+a@51 ns/job"}));
}

TEST_F(ObjectTrackerTest, AStoredObjectIsReportedOnceAfterTheOpen) {
  Open({{"a", 50}, {"b", 50}});
  State("a", 50);
  State("a", 50);
  State("b", 49);
  End(60);
  EXPECT_EQ(Take(), Trace{"+a@50 ns/job"});
}

TEST_F(ObjectTrackerTest, AResnapshotOfWhatIsKnownSaysNothing) {
  Open();
  State("a", 50);
  End(60);
  Take();
  tracker_.Begin(kSlot);
  State("a", 50);
  End(61);
  EXPECT_EQ(Take(), Trace{});
}

TEST_F(ObjectTrackerTest, OwnWritesAndTheWatchAreOneOrder) {
  OpenListed();
  State("a", 50);
  EXPECT_TRUE(Own("a", 60));
  State("a", 55);
  State("a", 60);
  EXPECT_TRUE(Own("a", 58));
  State("a", 61);
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "+a@60 ns/job", "+a@61 ns/job"}));
}

TEST_F(ObjectTrackerTest, AnotherUidUnderTheSameNameEndsTheOldOneFirst) {
  OpenListed();
  State("old", 50, "name");
  State("new", 60, "name");
  State("old", 55, "name");
  Tomb("old", 59, false, "name");
  EXPECT_EQ(Take(), (Trace{"+old@50 ns/job", "-old@50 absent ns/job", "+new@60 ns/job"}));
  EXPECT_EQ(tracker_.objects(), 1U);
  Progress(100);
  State("new", 101, "name");
  EXPECT_EQ(Take(), Trace{"+new@101 ns/job"}) << "the mark ends nothing that is present";
}

TEST_F(ObjectTrackerTest, AChangeOfRouteWithinASlotLeavesTheOldKeyFirst) {
  Open();
  State("a", 50, "a", "ns/one");
  State("a", 51, "a", "ns/two");
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/one", "-a@50 left ns/one", "+a@51 ns/two"}));
}

// ---- tombstones ----

TEST_F(ObjectTrackerTest, ATombstoneOfSomethingNeverSeenCarriesItsLastState) {
  OpenListed();
  Tomb("a", 60);
  Tomb("a", 60);
  State("a", 55);
  EXPECT_EQ(Take(), Trace{"-a@60 deleted ns/job last"});
}

// A gateway that was cut off lists again: the version of its list is above that of everything in the list.
TEST_F(ObjectTrackerTest, AListThatLacksAnOlderObjectDoesNotEndTheOneThatHasItsNameNow) {
  OpenListed();
  State("new", 60, "name");
  Take();
  tracker_.StartStream();
  Tomb("old", 100, false, "name", 30);
  State("new", 60, "name");
  End(100);
  EXPECT_EQ(Take(), Trace{"-old@100 deleted ns/job last"});
  EXPECT_EQ(tracker_.objects(), 1U);
  State("new", 110, "name");
  EXPECT_EQ(Take(), Trace{"+new@110 ns/job"});
}

TEST_F(ObjectTrackerTest, AListThatLacksANewerObjectEndsTheOlderOneOfItsNameFirst) {
  OpenListed();
  State("old", 50, "name");
  Take();
  Tomb("new", 100, false, "name", 60);
  EXPECT_EQ(Take(), (Trace{"-old@50 absent ns/job", "-new@100 deleted ns/job last"}));
}

TEST_F(ObjectTrackerTest, AnObjectThatLeftComesBackOnlyWithALaterState) {
  OpenListed();
  State("a", 50);
  Tomb("a", 60, true);
  State("a", 60);
  State("a", 61);
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "-a@60 left ns/job last", "+a@61 ns/job"}));
  EXPECT_EQ(tracker_.objects(), 1U);
}

TEST_F(ObjectTrackerTest, AnObjectThatLeftAndIsDeletedEndsTwice) {
  OpenListed();
  State("a", 50);
  Tomb("a", 60, true);
  Tomb("a", 70);
  State("a", 65);
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "-a@60 left ns/job last", "-a@70 deleted ns/job last"}));
}

TEST_F(ObjectTrackerTest, OurOwnDeletionEndsItAtOnceAndItsTombstoneSaysNothingNew) {
  OpenListed();
  State("a", 50);
  tracker_.OwnDeletion(kSlot, "ns/job", Pod("a", 50, "a"));
  Progress(55);  // The mark lies between the last state and the deletion.
  State("a", 52);
  Tomb("a", 60);
  Progress(60);
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "-a@50 deleted ns/job last"}));
  EXPECT_EQ(tracker_.objects(), 0U);
}

TEST_F(ObjectTrackerTest, AnAnswerAboutAnEndedObjectDoesNotBringItBack) {
  OpenListed();
  State("a", 50);
  Tomb("a", 60);
  EXPECT_FALSE(Own("a", 55));
  EXPECT_EQ(Take(), (Trace{"+a@50 ns/job", "-a@60 deleted ns/job last"}));
}

TEST_F(ObjectTrackerTest, NothingIsSaidOfASlotThatIsClosed) {
  Open({{"a", 50}});
  tracker_.Close(kSlot);
  State("a", 60);
  Tomb("a", 70);
  Progress(100);
  EXPECT_EQ(Take(), Trace{});
  EXPECT_EQ(tracker_.objects(), 0U);
}

}  // namespace
}  // namespace basalt::runtime
