#include "gateway/access/job_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);

TEST(JobMemoryTest, AJobThatIsGoneIsRememberedForMinutes) {
  JobMemory memory;
  memory.JobGone("ns/j", "first", kStart);
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(4)), "first");
  EXPECT_EQ(memory.GoneUid("ns/other", kStart), "");
  memory.JobGone("ns/j", "second", kStart + absl::Minutes(4));
  memory.JobGone("ns/k", "third", kStart + absl::Minutes(6));  // The first one's time is over.
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(6)), "second");
  EXPECT_EQ(memory.GoneUid("ns/j", kStart + absl::Minutes(9)), "");
}

TEST(JobMemoryTest, AnObjectIsOwnedByTheJobThatItWasSeenWith) {
  JobMemory memory;
  memory.ObjectSeen("secret", "job");
  EXPECT_TRUE(memory.IsOwned("secret", "job"));
  EXPECT_FALSE(memory.IsOwned("secret", "another job"));
  EXPECT_FALSE(memory.IsOwned("secret", ""));
  EXPECT_FALSE(memory.IsOwned("", ""));
  memory.ObjectSeen("secret", "");
  EXPECT_TRUE(memory.IsOwned("secret", "job"));
}

TEST(JobMemoryTest, TheOldestGoesWhereThereAreTooMany) {
  JobMemory memory;
  for (size_t i = 0; i <= JobMemory::kMost; ++i) {
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
