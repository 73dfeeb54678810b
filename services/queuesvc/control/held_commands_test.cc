#include "services/queuesvc/control/held_commands.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::queuesvc {
namespace {

class HeldCommandsTest : public ::testing::Test {
 protected:
  void See(const std::string& uid, int64_t creation_ms, int64_t resource_version) {
    kube::v1::Command command;
    command.mutable_meta()->set_uid(uid);
    command.mutable_meta()->set_creation_ms(creation_ms);
    command.mutable_meta()->set_resource_version(resource_version);
    commands_.See(std::move(command));
  }
  std::string Next(bool deletes = true) const {
    const kube::v1::Command* const next = commands_.Next(record_, deletes);
    return next == nullptr ? "" : next->meta().uid();
  }

  HeldCommands commands_;
  storage::v1::QueueRecord record_;
};

TEST_F(HeldCommandsTest, TheOldestComesFirstAlsoWithinASecond) {
  EXPECT_EQ(Next(), "");
  See("late", 2000, 5);
  See("second", 1000, 9);
  See("first", 1000, 7);
  EXPECT_EQ(Next(), "first");
  See("first", 1000, 12);  // The Command has changed, and is as old as before.
  EXPECT_EQ(Next(), "first");
  commands_.MarkDeleted("first");
  EXPECT_EQ(Next(), "second");
  EXPECT_TRUE(commands_.Has("first")) << "its watch has not told yet";
  for (const char* uid : {"first", "second", "unknown"}) commands_.Forget(uid);
  EXPECT_EQ(Next(), "late");
  EXPECT_FALSE(commands_.Has("first"));
  commands_.Forget("late");
  EXPECT_TRUE(commands_.empty());
}

TEST_F(HeldCommandsTest, OneThatHasEndedIsNextOnlyToBeDeleted) {
  See("a", 1000, 1);
  See("b", 2000, 2);
  EXPECT_TRUE(commands_.HaveSeveralOpen(record_));
  record_.add_ended_commands("a");
  EXPECT_EQ(Next(), "a");
  EXPECT_EQ(Next(/*deletes=*/false), "b");
  EXPECT_FALSE(commands_.HaveSeveralOpen(record_));
}

TEST_F(HeldCommandsTest, WhenACommandWasFirstTriedStays) {
  See("a", 1000, 1);
  EXPECT_EQ(commands_.NoteTried("a", 5000), 5000);
  See("a", 1000, 3);
  EXPECT_EQ(commands_.NoteTried("a", 6000), 5000);
}

}  // namespace
}  // namespace basalt::queuesvc
