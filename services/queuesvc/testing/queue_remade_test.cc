// Queues that people delete and make again; queuesvc itself makes those again that always exist.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/testing/controller_rig/kill_points.h"
#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

using basalt::testing::KillAtEachPoint;
using basalt::testing::KillPoint;

std::string UidOf(QueueRig& rig, std::string_view queue) {
  return std::string(FindString(rig.MemberOf(queue, "metadata"), "uid"));
}

// Holds also if the queues had been closed, and whatever is below them.
TEST(QueueRemadeTest, WhereverTheProcessIsKilledRootAndDefaultAreMadeAnewAndOpen) {
  KillAtEachPoint(8, [](KillPoint& kill) {
    QueueRig rig;
    rig.Start();
    rig.MakeObjects();
    rig.MakeQueue("below", "default");
    rig.Run(absl::Seconds(10));
    rig.Command("close", "default", kCloseQueue);
    rig.Run(absl::Minutes(1));
    ASSERT_EQ(rig.StateOf("default"), "Closing") << "it holds a pod group";
    ASSERT_EQ(rig.StateOf("below"), "Closed");

    const std::string root = UidOf(rig, "root");
    const std::string of_default = UidOf(rig, "default");
    kill.Arm(rig);
    rig.server().Delete(kube::kQueues, "", "root");
    rig.server().Delete(kube::kQueues, "", "default");
    rig.Run(absl::Minutes(1));
    kill.Restart(rig);
    rig.KillAt(0);
    rig.Run(absl::Minutes(1));
    rig.ExpectAllThere();
    EXPECT_NE(UidOf(rig, "root"), root);
    EXPECT_NE(UidOf(rig, "default"), of_default);
    EXPECT_EQ(rig.StateOf("below"), "Open") << "its parent is open";
    EXPECT_EQ(rig.MarkOf("below"), "false");
    rig.ExpectNothingIsWrittenAgain();
    rig.ExpectShownIsRecorded();
    for (const char* made : {"root", "default"}) {
      EXPECT_LE(rig.TimesMade(made), 1) << made;
      EXPECT_TRUE(kill.was_killed() || rig.TimesMade(made) == 1) << made;
    }
  });
}

}  // namespace
}  // namespace basalt::queuesvc::testing
