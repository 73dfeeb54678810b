// Queues, their counts, and their states as published to watching clients, with a controller that is killed anywhere,
// or whose writes are lost, over an API server in memory.
#include "services/queuesvc/testing/queue_rig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/testing/controller_rig/kill_points.h"

namespace basalt::queuesvc::testing {
namespace {

using basalt::testing::Fate;
using basalt::testing::KillAtEachPoint;
using basalt::testing::KillPoint;

TEST(QueueRigTest, WhereverTheProcessIsKilledQueuesAreThereAndTheirCountsAreRight) {
  KillAtEachPoint(8, [](KillPoint& kill) {
    QueueRig rig;
    kill.Arm(rig);
    rig.Start();
    rig.MakeObjects();
    rig.Run(absl::Seconds(10));
    kill.Restart(rig);
    rig.KillAt(0);
    rig.Run(absl::Seconds(10));
    rig.ExpectAllThere();
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
    for (const char* made : {"root", "default"}) {
      EXPECT_LE(rig.TimesMade(made), 1) << made;
      EXPECT_TRUE(kill.was_killed() || rig.TimesMade(made) == 1) << made;
    }
  });
}

// A tree of queues that two commands close and open.
class Cascade {
 public:
  explicit Cascade(QueueRig& rig) : rig_(rig) {}
  void Make() {
    rig_.MakeQueue("p", "root");
    rig_.MakeQueue("a", "p");
    rig_.MakeQueue("below", "a");
    rig_.MakeQueue("b", "p");
    rig_.MakeGroup("g", "below", "Running");
    rig_.Run(absl::Minutes(1));
  }
  void ExpectClosed() {
    EXPECT_EQ(rig_.StateOf("p"), "Closed");
    EXPECT_EQ(rig_.MarkOf("p"), "");
    EXPECT_EQ(rig_.StateOf("a"), "Closed");
    EXPECT_EQ(rig_.MarkOf("a"), "true");
    EXPECT_EQ(rig_.StateOf("below"), "Closing");
    EXPECT_EQ(rig_.MarkOf("below"), "true");
    EXPECT_EQ(rig_.StateOf("b"), "Closed");
    EXPECT_EQ(rig_.MarkOf("b"), "") << "somebody had closed it before";
  }
  void ExpectOpen() {
    for (const char* queue : {"p", "a", "below"}) {
      EXPECT_EQ(rig_.StateOf(queue), "Open") << queue;
      EXPECT_EQ(rig_.MarkOf(queue), "false") << queue;
    }
    EXPECT_EQ(rig_.StateOf("b"), "Closed") << "it is opened by nobody but people";
  }
  void ExpectNoCommands() {
    for (const char* command : {"close-b", "close", "open"}) EXPECT_FALSE(rig_.HasCommand(command)) << command;
  }

 private:
  QueueRig& rig_;
};

TEST(QueueRigTest, WhereverTheProcessIsKilledATreeIsClosedAndOpened) {
  KillAtEachPoint(30, [](KillPoint& kill) {
    QueueRig rig;
    Cascade cascade(rig);
    rig.Start();
    cascade.Make();
    kill.Arm(rig);
    const auto run_on = [&] {
      rig.Run(absl::Minutes(1));
      if (kill.Restart(rig)) rig.Run(absl::Minutes(1));
    };
    rig.Command("close-b", "b", kCloseQueue);
    run_on();
    rig.Command("close", "p", kCloseQueue);
    run_on();
    cascade.ExpectClosed();
    rig.Command("open", "p", kOpenQueue);
    run_on();
    cascade.ExpectOpen();
    cascade.ExpectNoCommands();
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
  });
}

TEST(QueueRigTest, WhicheverWriteIsLostATreeIsClosedAndOpened) {
  for (const Fate fate : {Fate::kNotSent, Fate::kLostRequest, Fate::kLostAnswer}) {
    int lost = 0;
    bool was_lost = true;
    while (was_lost) {
      SCOPED_TRACE(fmt::format("fate {} of write {}", static_cast<int>(fate), ++lost));
      QueueRig rig;
      Cascade cascade(rig);
      rig.Start();
      cascade.Make();
      int writes = 0;
      rig.fate = [&](const gateway::v1::WriteRequest&) { return ++writes == lost ? fate : Fate::kNormal; };
      rig.Command("close-b", "b", kCloseQueue);
      rig.Run(absl::Minutes(2));
      rig.Command("close", "p", kCloseQueue);
      rig.Run(absl::Minutes(2));
      cascade.ExpectClosed();
      rig.Command("open", "p", kOpenQueue);
      rig.Run(absl::Minutes(2));
      was_lost = writes >= lost;
      rig.fate = nullptr;
      cascade.ExpectOpen();
      cascade.ExpectNoCommands();
      rig.ExpectNothingIsWrittenAgain();
    }
    EXPECT_GT(lost, 12);
  }
}

// The last explicit request about a queue counts, whatever happened to its parent before.
TEST(QueueRigTest, AQueueThatIsClosedByHandBelowAClosedParentStaysClosed) {
  for (const bool at_once : {false, true}) {
    SCOPED_TRACE(at_once ? "the parent is closed in the same moment" : "the parent is closed before");
    QueueRig rig;
    rig.Start();
    rig.MakeQueue("p", "root");
    rig.MakeQueue("c", "p");
    rig.MakeQueue("other", "p");
    rig.Run(absl::Minutes(1));
    rig.Command("close-p", "p", kCloseQueue);
    if (!at_once) rig.Run(absl::Minutes(1));
    rig.Command("close-c", "c", kCloseQueue);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.StateOf("c"), "Closed");
    rig.Command("open-p", "p", kOpenQueue);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.StateOf("c"), "Closed");
    EXPECT_EQ(rig.StateOf("other"), "Open") << "nobody but its parent had closed it";
    rig.Command("open-c", "c", kOpenQueue);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.StateOf("c"), "Open");
    rig.ExpectNothingIsWrittenAgain();
  }
}

// A scheduler causes this when it writes the allocation of a busy queue.
TEST(QueueRigTest, AStateThatMeetsANewerVersionIsWrittenAgainAtOnce) {
  for (const bool watch_is_late : {false, true}) {
    SCOPED_TRACE(watch_is_late ? "the watch is late" : "the watch is in time");
    QueueRig rig;
    rig.Start();
    rig.MakeQueue("q", "root");
    rig.Run(absl::Minutes(1));
    if (watch_is_late) {
      rig.late = [](const kube::v1::Object& object, bool) {
        return object.has_queue() ? absl::Minutes(1) : absl::ZeroDuration();
      };
    }
    int races = 0;
    rig.fate = [&](const gateway::v1::WriteRequest& request) {
      if (request.name() != "q" || request.patch().resource_version() == 0 || races == 6) return Fate::kNormal;
      const json::object allocated{{"cpu", std::to_string(++races)}};
      rig.server().Merge(kube::kQueues, "", "q", json::object{{"status", json::object{{"allocated", allocated}}}},
                         "status");
      return Fate::kNormal;
    };
    rig.Command("close", "q", kCloseQueue);
    EXPECT_TRUE(rig.RunUntil([&] { return rig.StateOf("q") == "Closed"; }, absl::Milliseconds(100)));
    EXPECT_EQ(races, 6);
    EXPECT_TRUE(rig.RunUntil([&] { return !rig.HasCommand("close"); }, absl::Milliseconds(100)));
    rig.Run(absl::Minutes(2));
    rig.ExpectNothingIsWrittenAgain();
  }
}

TEST(QueueRigTest, RootIsNotClosedAndQueuesBelowThemselvesHaveNobodyAboveThem) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("x", "y");
  rig.MakeQueue("y", "x");
  rig.MakeQueue("self", "self");
  rig.MakeQueue("orphan", "missing");
  rig.Run(absl::Minutes(1));
  for (const char* queue : {"x", "y", "self", "orphan"}) EXPECT_EQ(rig.StateOf(queue), "Open") << queue;
  rig.Command("c-root", "root", kCloseQueue);
  rig.Command("c-x", "x", kCloseQueue);
  rig.Command("c-self", "self", kCloseQueue);
  rig.Command("c-default", "default", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("root"), "Open");
  EXPECT_EQ(rig.StateOf("x"), "Closed");
  EXPECT_EQ(rig.StateOf("y"), "Open");
  EXPECT_EQ(rig.StateOf("self"), "Closed");
  EXPECT_EQ(rig.StateOf("default"), "Closed") << "any queue but root can be";
  rig.Command("o-self", "self", kOpenQueue);
  rig.Command("o-orphan", "orphan", "DrainQueue");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("self"), "Open");
  for (const char* command : {"c-root", "c-x", "c-self", "c-default", "o-self", "o-orphan"}) {
    EXPECT_FALSE(rig.HasCommand(command)) << command;
  }
  rig.ExpectNothingIsWrittenAgain();
}

TEST(QueueRigTest, AQueueBelowACircleThatItIsNotInFollowsItsParent) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("x", "y");
  rig.MakeQueue("y", "x");
  rig.MakeQueue("below", "x");
  rig.MakeQueue("far", "below");
  rig.Run(absl::Minutes(1));
  rig.Command("close", "x", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("y"), "Open") << "it has nobody above it";
  EXPECT_EQ(rig.StateOf("below"), "Closed");
  EXPECT_EQ(rig.StateOf("far"), "Closed");
}

TEST(QueueRigTest, ACircleOfParentsIsNamedTheSameFromEveryQueueInItByAnEvent) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("b", "c");
  rig.MakeQueue("c", "a");
  rig.MakeQueue("a", "b");
  rig.MakeQueue("below", "a");
  rig.Run(absl::Minutes(1));
  const auto warnings = [&rig](const std::string& queue) {
    std::string text;
    for (const std::string& message : rig.EventsOf(queue, "SpecWarning")) text += message + "\n";
    return text;
  };
  const std::string circle =
      "spec.parent: the parents of 3 queues are a circle, a -> b -> c -> a: none of them counts as having a parent; "
      "name another parent for one of them\n";
  for (const char* queue : {"a", "b", "c"}) {
    EXPECT_EQ(warnings(queue), circle) << queue;
    const auto explained = rig.controller().Explain(queue);
    ASSERT_TRUE(explained.ok());
    EXPECT_NE(explained->DebugString().find("a -> b -> c -> a"), std::string::npos) << queue;
  }
  EXPECT_EQ(warnings("below"), "") << "the queue itself has a parent";
  rig.Kill();
  rig.Start();
  rig.server().Merge(kube::kQueues, "", "b", json::object{{"spec", json::object{{"parent", "root"}}}});
  rig.Run(absl::Minutes(1));
  for (const char* queue : {"a", "b", "c"}) {
    EXPECT_EQ(warnings(queue), circle) << "once";
    EXPECT_EQ(rig.controller().RecordOf(queue)->spec_warning(), "") << queue;
  }
}

// No queue in a circle has a parent; all in it have one as soon as the circle is broken anywhere.
TEST(QueueRigTest, ACircleThatIsBrokenIsATree) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("a", "b");
  rig.MakeQueue("b", "c");
  rig.MakeQueue("c", "a");
  rig.Run(absl::Minutes(1));
  rig.Command("close", "c", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("b"), "Open");
  rig.server().Merge(kube::kQueues, "", "a", json::object{{"spec", json::object{{"parent", "root"}}}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("c"), "Closed");
  EXPECT_EQ(rig.StateOf("b"), "Closed") << "its parent c is closed";
  EXPECT_EQ(rig.StateOf("a"), "Open");
}

TEST(QueueRigTest, AGroupThatMovesToAnotherQueueKeepsTheFirstNoLonger) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("first", "root");
  rig.MakeQueue("second", "root");
  rig.MakeGroup("g", "first", "Running");
  rig.Run(absl::Minutes(1));
  rig.Command("close", "first", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("first"), "Closing");
  rig.server().Merge(kube::kPodGroups, "default", "g", json::object{{"spec", json::object{{"queue", "second"}}}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("first"), "Closed");
  rig.ExpectQueue("second", 1, 0);
}

TEST(QueueRigTest, AQueueThatIsMadeAnewHoldsTheGroupsThatNameIt) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("again", "root");
  rig.MakeGroup("g", "again", "Running");
  rig.Run(absl::Minutes(1));
  rig.server().Delete(kube::kQueues, "", "again");
  rig.Run(absl::Minutes(1));
  rig.MakeQueue("again", "root");
  rig.Run(absl::Minutes(1));
  rig.ExpectQueue("again", 1, 0);
  rig.Command("close", "again", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("again"), "Closing");
}

// A state that somebody edits counts as one that a command has caused.
TEST(QueueRigTest, AQueueThatIsClosedByHandClosesThoseBelow) {
  QueueRig rig;
  rig.Start();
  Cascade cascade(rig);
  cascade.Make();
  const auto edit = [&rig](std::string_view queue, std::string_view state) {
    rig.server().Merge(kube::kQueues, "", queue, json::object{{"status", json::object{{"state", state}}}}, "status");
    rig.Run(absl::Minutes(1));
  };
  edit("b", "Closed");
  edit("p", "Closed");
  cascade.ExpectClosed();
  edit("a", "Open");
  EXPECT_EQ(rig.StateOf("a"), "Closed") << "its parent is closed";
  edit("p", "Open");
  EXPECT_EQ(rig.StateOf("below"), "Open");
  edit("a", "Unknown");
  EXPECT_EQ(rig.StateOf("below"), "Open");
  edit("p", "Closing");
  EXPECT_EQ(rig.StateOf("p"), "Closed");
  cascade.ExpectClosed();
}

// Counts are written once a second, and contain no state (U25 of the users' cases).
TEST(QueueRigTest, AStateThatIsEditedWhileCountsAreOnTheirWayStays) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("p", "root");
  rig.MakeQueue("below", "p");
  rig.Run(absl::Minutes(1));
  int edits = 0;
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.name() == "p" && request.subresource() == "status" && edits++ == 0) {
      rig.server().Merge(kube::kQueues, "", "p", json::object{{"status", json::object{{"state", "Closing"}}}},
                         "status");
    }
    return Fate::kNormal;
  };
  rig.MakeGroup("g", "p", "Running");
  rig.Run(absl::Minutes(1));
  ASSERT_GE(edits, 1);
  EXPECT_EQ(rig.StateOf("p"), "Closing");
  EXPECT_EQ(rig.StateOf("below"), "Closed");
  EXPECT_EQ(FindInt(rig.MemberOf("p", "status"), "running"), 1);
  rig.ExpectNothingIsWrittenAgain();
  rig.ExpectShownIsRecorded();
}

TEST(QueueRigTest, RootHasNobodyAboveItWhateverItsSpecSays) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("x", "gone");
  rig.MakeQueue("q", "root");
  rig.Run(absl::Minutes(1));
  rig.server().Merge(kube::kQueues, "", "root", json::object{{"spec", json::object{{"parent", "x"}}}});
  rig.Command("close", "x", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("x"), "Closed");
  EXPECT_EQ(rig.StateOf("root"), "Open");
  EXPECT_EQ(rig.StateOf("q"), "Open");
  rig.server().Merge(kube::kQueues, "", "root", json::object{{"spec", json::object{{"parent", "q"}}}});
  rig.server().Merge(kube::kQueues, "", "root", json::object{{"status", json::object{{"state", "Closed"}}}}, "status");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("q"), "Closed") << "root is above it still";
  rig.ExpectNothingIsWrittenAgain();
}

// After an outage both Commands are older than the longest wait of a Command.
TEST(QueueRigTest, AChildWhoseParentIsOpenedAfterAnOutageIsOpenedToo) {
  for (const char* first : {"p", "c"}) {
    QueueRig rig;
    rig.Start();
    rig.MakeQueue("p", "root");
    rig.MakeQueue("c", "p");
    rig.Run(absl::Minutes(1));
    rig.Command("close-c", "c", kCloseQueue);
    rig.Run(absl::Minutes(1));
    rig.Command("close-p", "p", kCloseQueue);
    rig.Run(absl::Minutes(1));
    rig.Kill();
    const std::string second = std::string(first) == "p" ? "c" : "p";
    rig.Command("open-1", first, kOpenQueue);
    rig.Command("open-2", second, kOpenQueue);
    rig.Run(absl::Minutes(5));
    rig.Start();
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.StateOf("p"), "Open");
    EXPECT_EQ(rig.StateOf("c"), "Open");
  }
}

TEST(QueueRigTest, WhicheverWriteIsLostQueuesAreThereAndTheirCountsAreRight) {
  for (const Fate fate : {Fate::kNotSent, Fate::kLostRequest, Fate::kLostAnswer}) {
    int lost = 0;
    bool was_lost = true;
    while (was_lost) {
      SCOPED_TRACE(fmt::format("fate {} of write {}", static_cast<int>(fate), ++lost));
      QueueRig rig;
      int writes = 0;
      rig.fate = [&](const gateway::v1::WriteRequest&) { return ++writes == lost ? fate : Fate::kNormal; };
      rig.Start();
      rig.MakeObjects();
      rig.Run(absl::Minutes(1));
      was_lost = writes >= lost;
      rig.fate = nullptr;
      rig.ExpectAllThere();
      rig.ExpectNothingIsWrittenAgain();
      rig.ExpectShownIsRecorded();
    }
    EXPECT_GT(lost, 4) << "it has made two queues, and said their state";
  }
}

// The counts cover the groups that exist when the slot comes back.
TEST(QueueRigTest, GroupsThatWentWhileNobodyRanAreNotCounted) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.ExpectAllThere();
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", "a");
  rig.Start();
  rig.Run(absl::Seconds(10));
  rig.ExpectQueue("q", 0, 1);
  rig.ExpectShownIsRecorded();
}

TEST(QueueRigTest, AQueueThatWentWhileNobodyRanIsToldAsGone) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.server().Delete(kube::kQueues, "", "q");
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.published_gone, std::vector<std::string>{"q"});
  rig.ExpectShownIsRecorded();
}

// Absence is not deletion (design rule 1).
TEST(QueueRigTest, AGroupThatTheNextSnapshotLeavesOutIsCountedOnceItIsSeen) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.uncertain.insert(rig.UidOfGroup("a"));
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  rig.server().Merge(kube::kPodGroups, "default", "a",
                     json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  rig.ExpectAllThere();
  rig.ExpectNothingIsWrittenAgain();
  rig.ExpectShownIsRecorded();
}

// Absence is not deletion (design rule 1).
TEST(QueueRigTest, AQueueThatTheNextSnapshotLeavesOutIsNotToldAsGone) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.uncertain.insert(std::string(FindString(rig.MemberOf("q", "metadata"), "uid")));
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  rig.server().Merge(kube::kQueues, "", "q",
                     json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  rig.ExpectAllThere();
  rig.ExpectShownIsRecorded();
}

// Queues of KAI's are read and counted; nothing about them is ever written.
TEST(QueueRigTest, GroupsOfKaisAreCountedWhereTheyAreWhateverHappens) {
  for (const bool loses_disk : {false, true}) {
    SCOPED_TRACE(loses_disk);
    QueueRig rig;
    rig.Start();
    rig.MakeKaiGroup("early", "team");
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.KaiQueue("team"), "missing, 1 pod groups");
    rig.MakeKaiQueue("team", "all");
    rig.MakeKaiGroup("a", "team");
    rig.MakeKaiGroup("b", "other");
    rig.MakeKaiGroup("none", "");
    rig.server().ClearLog();
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.KaiQueue("team"), "below all, 2 pod groups");
    EXPECT_EQ(rig.KaiQueue("other"), "missing, 1 pod groups");
    EXPECT_EQ(rig.controller().queues().Find("team"), nullptr) << "it is no queue of Volcano's";

    rig.Kill();
    if (loses_disk) rig.LoseDisk();
    rig.MoveKaiGroup("a", "other");  // No process observes the move.
    rig.Start();
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.KaiQueue("team"), "below all, 1 pod groups");
    EXPECT_EQ(rig.KaiQueue("other"), "missing, 2 pod groups");
    rig.MoveKaiGroup("early", "other");
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.KaiQueue("team"), "below all, 0 pod groups");
    rig.server().Delete(kube::kKaiQueues, "", "team");
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.KaiQueue("team"), "");
    EXPECT_TRUE(rig.server().log().empty()) << "nothing was written";
  }
}

}  // namespace
}  // namespace basalt::queuesvc::testing
