// Commands about queues that are deleted, and about their successors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

using basalt::testing::Fate;

// A finalizer keeps the queue during its deletion: nothing more is done with the queue, and nothing is tried over and
// over.
TEST(QueueCommandsTest, ACommandForAQueueThatIsBeingDeletedIsRefused) {
  QueueRig rig;
  rig.Start();
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
TEST(QueueCommandsTest, CommandsOfOneSecondAreCarriedOutAsTheyCame) {
  QueueRig rig;
  rig.Start();
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
TEST(QueueCommandsTest, WhatWasDecidedOfAQueueIsNotWrittenToItsSuccessor) {
  QueueRig rig;
  rig.Start();
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
  rig.Command("close", "q", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_GT(replaced, 0);
  EXPECT_EQ(rig.StateOf("q"), "Open") << "nobody has closed the new one";
}

// The scheduler writes the same status: each of its writes in between costs one more try.
TEST(QueueCommandsTest, AQueueIsClosedBesideASchedulerThatWritesItsStatus) {
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("q", "root");
  rig.MakeGroup("g", "q", "Running");
  rig.Run(absl::Minutes(1));
  int conflicts = 0;
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.name() == "q" && request.subresource() == "status" && conflicts < 3) {
      rig.server().Merge(kube::kQueues, "", "q",
                         json::object{{"status", json::object{{"allocated", json::object{{"cpu", ++conflicts}}}}}},
                         "status");
    }
    return Fate::kNormal;
  };
  rig.Command("close", "q", kCloseQueue);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(conflicts, 3);
  EXPECT_EQ(rig.StateOf("q"), "Closing");
  conflicts = 0;
  rig.server().Delete(kube::kPodGroups, "default", "g");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(conflicts, 3);
  EXPECT_EQ(rig.StateOf("q"), "Closed");
  EXPECT_EQ(FindInt(*Find(rig.MemberOf("q", "status"), "allocated"), "cpu"), 3) << "what is the scheduler's stays";
  rig.ExpectNothingIsWrittenAgain();
}

}  // namespace
}  // namespace basalt::queuesvc::testing
