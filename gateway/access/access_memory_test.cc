#include "gateway/access/access_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);

TEST(AccessMemoryTest, AJobThatIsGoneIsRememberedForMinutes) {
  AccessMemory memory;
  memory.JobGone("ns/j", "first", kStart);
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(4)), "first");
  EXPECT_EQ(memory.GoneUid("ns/other", kStart), "");
  memory.JobGone("ns/j", "second", kStart + absl::Minutes(4));
  memory.JobGone("ns/k", "third", kStart + absl::Minutes(6));  // The time of the first job is over.
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(6)), "second");
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(9)), "");
}

TEST(AccessMemoryTest, AnObjectThatMovedIsRememberedForAWhile) {
  AccessMemory memory;
  memory.ObjectMoved("pod", "ns/g", kStart);
  memory.ObjectMoved("pod", "ns/h", kStart + absl::Seconds(20));
  EXPECT_TRUE(memory.WasOf("pod", "ns/g", kStart + absl::Seconds(29)));
  EXPECT_FALSE(memory.WasOf("pod", "ns/g", kStart + absl::Seconds(30)));
  EXPECT_TRUE(memory.WasOf("pod", "ns/h", kStart + absl::Seconds(30)));
  EXPECT_FALSE(memory.WasOf("", "ns/h", kStart + absl::Seconds(30)));
}

TEST(AccessMemoryTest, AnObjectIsOwnedByTheJobThatItWasSeenWith) {
  AccessMemory memory;
  memory.ObjectSeen("secret", "job");
  EXPECT_TRUE(memory.IsOwned("secret", "job"));
  EXPECT_FALSE(memory.IsOwned("secret", "another job"));
  EXPECT_FALSE(memory.IsOwned("secret", ""));
  EXPECT_FALSE(memory.IsOwned("", ""));
  memory.ObjectSeen("secret", "");
  EXPECT_TRUE(memory.IsOwned("secret", "job"));
}

TEST(AccessMemoryTest, TheOldestGoesWhereThereAreTooMany) {
  AccessMemory memory;
  for (size_t i = 0; i <= AccessMemory::kMost; ++i) {
    memory.ObjectSeen(fmt::format("o{}", i), "job");
    memory.JobGone(fmt::format("ns/{}", i), "uid", kStart);
  }
  EXPECT_FALSE(memory.IsOwned("o0", "job"));
  EXPECT_TRUE(memory.IsOwned("o1", "job"));
  EXPECT_EQ(memory.GoneUid("ns/0", kStart), "");
  EXPECT_EQ(memory.GoneUid("ns/1", kStart), "uid");
}

}  // namespace
}  // namespace basalt::gateway
