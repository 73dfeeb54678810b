// Queues, their counts, and their states as published to watching clients, with a controller that is killed anywhere,
// or whose writes are lost, over an API server in memory.
#include "services/queuesvc/testing/queue_rig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/testing/controller_rig/kill_points.h"
#include "common/testing/controller_rig/lost_writes.h"

namespace basalt::queuesvc::testing {
namespace {

using basalt::testing::Fate;
using basalt::testing::KillAtEachPoint;
using basalt::testing::KillPoint;

// A tree of queues that two commands close and open, beside the queues that always exist and one of its own.
class Cascade {
 public:
  // `run` gives the controller its time after each act.
  Cascade(QueueRig& rig, std::function<void()> run) : rig_(rig), run_(std::move(run)) {}
  void Make() {
    rig_.MakeObjects();
    rig_.MakeQueue("p", "root");
    rig_.MakeQueue("a", "p");
    rig_.MakeQueue("below", "a");
    rig_.MakeQueue("b", "p");
    rig_.MakeGroup("g", "below", "Running");
    run_();
  }
  void CloseAndOpen() {
    for (const char* queue : {"b", "p"}) {
      rig_.Command(fmt::format("close-{}", queue), queue, kCloseQueue);
      run_();
    }
    ExpectClosed();
    rig_.Command("open", "p", kOpenQueue);
    run_();
    for (const char* queue : {"p", "a", "below"}) {
      EXPECT_EQ(rig_.StateOf(queue), "Open") << queue;
      EXPECT_EQ(rig_.MarkOf(queue), "false") << queue;
    }
    EXPECT_EQ(rig_.StateOf("b"), "Closed") << "it is opened by nobody but people";
    for (const char* command : {"close-b", "close-p", "open"}) EXPECT_FALSE(rig_.HasCommand(command)) << command;
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

 private:
  QueueRig& rig_;
  const std::function<void()> run_;
};

void ExpectMadeOnce(QueueRig& rig, bool was_killed) {
  for (const char* made : {"root", "default"}) {
    EXPECT_LE(rig.TimesMade(made), 1) << made;
    EXPECT_TRUE(was_killed || rig.TimesMade(made) == 1) << made;
  }
}

TEST(QueueRigTest, WhereverTheProcessIsKilledATreeIsClosedAndOpened) {
  KillAtEachPoint(38, [](KillPoint& kill) {
    QueueRig rig;
    Cascade cascade(rig, [&] {
      rig.Run(absl::Minutes(1));
      if (kill.Restart(rig)) rig.Run(absl::Minutes(1));
    });
    kill.Arm(rig);
    rig.Start();
    cascade.Make();
    cascade.CloseAndOpen();
    rig.KillAt(0);
    rig.ExpectAllThere();
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
    ExpectMadeOnce(rig, kill.was_killed());
  });
}

TEST(QueueRigTest, WhicheverWriteIsLostATreeIsClosedAndOpened) {
  int lives = 0;
  basalt::testing::LoseEachWrite<QueueRig>(
      nullptr,
      [](QueueRig& rig) {
        Cascade cascade(rig, [&rig] { rig.Run(absl::Minutes(2)); });
        cascade.Make();
        cascade.CloseAndOpen();
      },
      [&lives](QueueRig& rig, bool) {
        ++lives;
        rig.ExpectAllThere();
        rig.ExpectNothingIsWrittenAgain();
        rig.ExpectShownIsRecorded();
      });
  EXPECT_GT(lives, 3 * 16);
}

// Holds also if the queues had been closed, and whatever is below them.
TEST(QueueRigTest, WhereverTheProcessIsKilledRootAndDefaultAreMadeAnewAndOpen) {
  const auto uid_of = [](QueueRig& rig, std::string_view queue) {
    return std::string(FindString(rig.MemberOf(queue, "metadata"), "uid"));
  };
  KillAtEachPoint(8, [&](KillPoint& kill) {
    StartedQueueRig rig;
    rig.MakeObjects();
    rig.MakeQueue("below", "default");
    rig.Run(absl::Seconds(10));
    rig.CarryOut("close", "default", kCloseQueue);
    ASSERT_EQ(rig.StateOf("default"), "Closing") << "it holds a pod group";
    ASSERT_EQ(rig.StateOf("below"), "Closed");

    const std::string root = uid_of(rig, "root");
    const std::string of_default = uid_of(rig, "default");
    kill.Arm(rig);
    rig.server().Delete(kube::kQueues, "", "root");
    rig.server().Delete(kube::kQueues, "", "default");
    rig.Run(absl::Minutes(1));
    kill.Restart(rig);
    rig.KillAt(0);
    rig.Run(absl::Minutes(1));
    rig.ExpectAllThere();
    EXPECT_NE(uid_of(rig, "root"), root);
    EXPECT_NE(uid_of(rig, "default"), of_default);
    EXPECT_EQ(rig.StateOf("below"), "Open") << "its parent is open";
    EXPECT_EQ(rig.MarkOf("below"), "false");
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
    ExpectMadeOnce(rig, kill.was_killed());
  });
}

// The last explicit request about a queue counts, whatever happened to its parent before.
TEST(QueueRigTest, AQueueThatIsClosedByHandBelowAClosedParentStaysClosed) {
  for (const bool at_once : {false, true}) {
    SCOPED_TRACE(at_once ? "the parent is closed in the same moment" : "the parent is closed before");
    StartedQueueRig rig;
    rig.MakeQueue("p", "root");
    rig.MakeQueue("c", "p");
    rig.MakeQueue("other", "p");
    rig.Run(absl::Minutes(1));
    rig.Command("close-p", "p", kCloseQueue);
    if (!at_once) rig.Run(absl::Minutes(1));
    rig.CarryOut("close-c", "c", kCloseQueue);
    EXPECT_EQ(rig.StateOf("c"), "Closed");
    rig.CarryOut("open-p", "p", kOpenQueue);
    EXPECT_EQ(rig.StateOf("c"), "Closed");
    EXPECT_EQ(rig.StateOf("other"), "Open") << "nobody but its parent had closed it";
    rig.CarryOut("open-c", "c", kOpenQueue);
    EXPECT_EQ(rig.StateOf("c"), "Open");
    rig.ExpectNothingIsWrittenAgain();
  }
}

// A scheduler causes this when it writes the allocation of a busy queue.
TEST(QueueRigTest, AStateThatMeetsANewerVersionIsWrittenAgainAtOnce) {
  for (const bool watch_is_late : {false, true}) {
    SCOPED_TRACE(watch_is_late ? "the watch is late" : "the watch is in time");
    StartedQueueRig rig;
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
  StartedQueueRig rig;
  rig.MakeQueue("x", "y");
  rig.MakeQueue("y", "x");
  rig.MakeQueue("self", "self");
  rig.MakeQueue("orphan", "missing");
  rig.Run(absl::Minutes(1));
  for (const char* queue : {"x", "y", "self", "orphan"}) EXPECT_EQ(rig.StateOf(queue), "Open") << queue;
  rig.Command("c-root", "root", kCloseQueue);
  rig.Command("c-x", "x", kCloseQueue);
  rig.Command("c-self", "self", kCloseQueue);
  rig.CarryOut("c-default", "default", kCloseQueue);
  EXPECT_EQ(rig.StateOf("root"), "Open");
  EXPECT_EQ(rig.StateOf("x"), "Closed");
  EXPECT_EQ(rig.StateOf("y"), "Open");
  EXPECT_EQ(rig.StateOf("self"), "Closed");
  EXPECT_EQ(rig.StateOf("default"), "Closed") << "any queue but root can be";
  rig.Command("o-self", "self", kOpenQueue);
  rig.CarryOut("o-orphan", "orphan", "DrainQueue");
  EXPECT_EQ(rig.StateOf("self"), "Open");
  for (const char* command : {"c-root", "c-x", "c-self", "c-default", "o-self", "o-orphan"}) {
    EXPECT_FALSE(rig.HasCommand(command)) << command;
  }
  rig.ExpectNothingIsWrittenAgain();
}

TEST(QueueRigTest, ACircleOfParentsIsNamedTheSameFromEveryQueueInItByAnEvent) {
  StartedQueueRig rig;
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
  StartedQueueRig rig;
  rig.MakeQueue("a", "b");
  rig.MakeQueue("b", "c");
  rig.MakeQueue("c", "a");
  rig.MakeQueue("below", "c");
  rig.MakeQueue("far", "below");
  rig.Run(absl::Minutes(1));
  rig.CarryOut("close", "c", kCloseQueue);
  EXPECT_EQ(rig.StateOf("b"), "Open") << "it has nobody above it";
  EXPECT_EQ(rig.StateOf("below"), "Closed") << "it is not in the circle, and follows its parent";
  EXPECT_EQ(rig.StateOf("far"), "Closed");
  rig.server().Merge(kube::kQueues, "", "a", json::object{{"spec", json::object{{"parent", "root"}}}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("c"), "Closed");
  EXPECT_EQ(rig.StateOf("b"), "Closed") << "its parent c is closed";
  EXPECT_EQ(rig.StateOf("a"), "Open");
}

TEST(QueueRigTest, AGroupThatMovesToAnotherQueueKeepsTheFirstNoLonger) {
  StartedQueueRig rig;
  rig.MakeQueue("first", "root");
  rig.MakeQueue("second", "root");
  rig.MakeGroup("g", "first", "Running");
  rig.Run(absl::Minutes(1));
  rig.CarryOut("close", "first", kCloseQueue);
  EXPECT_EQ(rig.StateOf("first"), "Closing");
  rig.server().Merge(kube::kPodGroups, "default", "g", json::object{{"spec", json::object{{"queue", "second"}}}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("first"), "Closed");
  rig.ExpectQueue("second", 1, 0);
}

TEST(QueueRigTest, AQueueThatIsMadeAnewHoldsTheGroupsThatNameIt) {
  StartedQueueRig rig;
  rig.MakeQueue("again", "root");
  rig.MakeGroup("g", "again", "Running");
  rig.Run(absl::Minutes(1));
  rig.server().Delete(kube::kQueues, "", "again");
  rig.Run(absl::Minutes(1));
  rig.MakeQueue("again", "root");
  rig.Run(absl::Minutes(1));
  rig.ExpectQueue("again", 1, 0);
  rig.CarryOut("close", "again", kCloseQueue);
  EXPECT_EQ(rig.StateOf("again"), "Closing");
}

// A state that somebody edits counts as one that a command has caused.
TEST(QueueRigTest, AQueueThatIsClosedByHandClosesThoseBelow) {
  StartedQueueRig rig;
  Cascade cascade(rig, [&rig] { rig.Run(absl::Minutes(1)); });
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
  StartedQueueRig rig;
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
  StartedQueueRig rig;
  rig.MakeQueue("x", "gone");
  rig.MakeQueue("q", "root");
  rig.Run(absl::Minutes(1));
  rig.server().Merge(kube::kQueues, "", "root", json::object{{"spec", json::object{{"parent", "x"}}}});
  rig.CarryOut("close", "x", kCloseQueue);
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
    StartedQueueRig rig;
    rig.MakeQueue("p", "root");
    rig.MakeQueue("c", "p");
    rig.Run(absl::Minutes(1));
    rig.CarryOut("close-c", "c", kCloseQueue);
    rig.CarryOut("close-p", "p", kCloseQueue);
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

// The counts cover the groups that exist when the slot comes back.
TEST(QueueRigTest, WhoeverWentWhileNobodyRanIsGone) {
  StartedQueueRig rig;
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.ExpectAllThere();
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", "a");
  rig.Start();
  rig.Run(absl::Seconds(10));
  rig.ExpectQueue("q", 0, 1);
  rig.ExpectShownIsRecorded();
  rig.Kill();
  rig.server().Delete(kube::kQueues, "", "q");
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.published_gone, std::vector<std::string>{"q"});
  rig.ExpectShownIsRecorded();
}

// Absence is not deletion (design rule 1).
TEST(QueueRigTest, AnObjectThatTheNextSnapshotLeavesOutIsNotGone) {
  for (const bool is_queue : {false, true}) {
    SCOPED_TRACE(is_queue ? "a queue" : "a group");
    StartedQueueRig rig;
    rig.MakeObjects();
    rig.Run(absl::Seconds(10));
    rig.Kill();
    rig.uncertain.insert(is_queue ? std::string(FindString(rig.MemberOf("q", "metadata"), "uid"))
                                  : rig.UidOfGroup("a"));
    rig.Start();
    rig.Run(absl::Seconds(10));
    EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
    rig.server().Merge(is_queue ? kube::kQueues : kube::kPodGroups, is_queue ? "" : "default", is_queue ? "q" : "a",
                       json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
    rig.Run(absl::Seconds(10));
    EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
    rig.ExpectAllThere();
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
  }
}

// Queues of KAI's are read and counted; nothing about them is ever written.
TEST(QueueRigTest, GroupsOfKaisAreCountedWhereTheyAreWhateverHappens) {
  for (const bool loses_disk : {false, true}) {
    SCOPED_TRACE(loses_disk);
    StartedQueueRig rig;
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

// A finalizer keeps the queue during its deletion: nothing more is done with the queue, and nothing is tried over and
// over.
TEST(QueueRigTest, ACommandForAQueueThatIsBeingDeletedIsRefused) {
  StartedQueueRig rig;
  rig.MakeQueue("held", "root");
  rig.server().Merge(kube::kQueues, "", "held",
                     json::object{{"metadata", json::object{{"finalizers", json::array{"example.com/hold"}}}}});
  rig.Run(absl::Minutes(1));
  rig.server().Delete(kube::kQueues, "", "held");
  rig.Command("close", "held", kCloseQueue);
  rig.Run(absl::Minutes(2));
  EXPECT_FALSE(rig.HasCommand("close"));
  EXPECT_EQ(rig.StateOf("held"), "Open");
  EXPECT_THAT(rig.HistoryOf("held"), ::testing::HasSubstr("close: the queue is being deleted"));
  rig.ExpectNothingIsWrittenAgain();
}

// Kubernetes' times are whole seconds: Commands of one second are carried out as they were created, whatever their
// names.
TEST(QueueRigTest, CommandsOfOneSecondAreCarriedOutAsTheyCame) {
  StartedQueueRig rig;
  rig.MakeQueue("q", "root");
  rig.Run(absl::Minutes(1));
  rig.Kill();
  rig.Command("z", "q", kOpenQueue);
  rig.Command("a", "q", kCloseQueue);
  rig.Start();
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.StateOf("q"), "Closed");
  EXPECT_FALSE(rig.HasCommand("a") || rig.HasCommand("z"));
}

// A status is applied by name, and the API server checks no UID there.
TEST(QueueRigTest, ADecisionAboutAQueueIsNotWrittenToItsSuccessor) {
  StartedQueueRig rig;
  rig.MakeQueue("q", "root");
  rig.Run(absl::Minutes(1));
  int replaced = 0;
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.name() == "q" && request.subresource() == "status" && replaced++ == 0) {
      rig.server().Delete(kube::kQueues, "", "q");
      rig.MakeQueue("q", "root");
    }
    return Fate::kNormal;
  };
  rig.CarryOut("close", "q", kCloseQueue);
  EXPECT_GT(replaced, 0);
  EXPECT_EQ(rig.StateOf("q"), "Open") << "nobody has closed the new one";
}

}  // namespace
}  // namespace basalt::queuesvc::testing
