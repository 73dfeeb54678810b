// Queues that people delete, and that are there again: those that are always there, by queuesvc itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

std::string UidOf(QueueRig& rig, std::string_view queue) {
  return std::string(FindString(rig.MemberOf(queue, "metadata"), "uid"));
}

// Also where they had been closed, and whatever is below them.
TEST(QueueRemadeTest, WhereverTheProcessIsKilledRootAndDefaultAreMadeAnewAndOpen) {
  for (const bool loses_disk : {false, true}) {
    bool was_killed = true;
    int point = 0;
    while (was_killed) {
      SCOPED_TRACE(fmt::format("killed at point {}{}", ++point, loses_disk ? ", disk lost" : ""));
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
      rig.KillAt(point);
      rig.server().Delete(kube::kQueues, "", "root");
      rig.server().Delete(kube::kQueues, "", "default");
      rig.Run(absl::Minutes(1));
      was_killed = !rig.alive();
      if (was_killed) {
        if (loses_disk) rig.LoseDisk();
        rig.Start();
      }
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
        EXPECT_TRUE(was_killed || rig.TimesMade(made) == 1) << made;
      }
    }
    EXPECT_GT(point, 8) << "it has made two queues, and recorded it";
  }
}

}  // namespace
}  // namespace basalt::queuesvc::testing
