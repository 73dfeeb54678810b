#include "services/pgsvc/control/group_owner.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::pgsvc {
namespace {

gateway::v1::Member Member(const std::string& replica, const std::string& incarnation) {
  gateway::v1::Member member;
  member.set_replica(replica);
  member.set_incarnation(incarnation);
  member.set_address(replica + ":7000");
  return member;
}

TEST(GroupOwnerTest, ACallForAnotherReplicaIsAnsweredWithWhereTheGroupIs) {
  const gateway::v1::Member self = Member("pgsvc-0", "second");
  EXPECT_TRUE(CheckGroupOwner("ns/g", self, self).ok());
  EXPECT_TRUE(CheckGroupOwner("ns/g", std::nullopt, self).ok()) << "the worker knows that its slot is not ready";
  EXPECT_EQ(CheckGroupOwner("ns/g", Member("pgsvc-1", "second"), self),
            absl::UnavailableError("pod group ns/g belongs to pgsvc-1 at pgsvc-1:7000, not to pgsvc-0"));
  EXPECT_EQ(CheckGroupOwner("ns/g", Member("pgsvc-0", "first"), self).code(), absl::StatusCode::kUnavailable)
      << "another process of that name";
}

}  // namespace
}  // namespace basalt::pgsvc
