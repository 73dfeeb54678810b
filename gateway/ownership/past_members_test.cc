#include "gateway/ownership/past_members.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::gateway {
namespace {

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;

v1::Assignment AssignmentOf(int64_t epoch, const std::vector<std::string>& names) {
  v1::Assignment assignment;
  assignment.set_epoch(epoch);
  for (const std::string& name : names) {
    v1::Member& member = *assignment.add_members();
    member.set_service(kJob);
    member.set_replica(name);
  }
  return assignment;
}

storage::v1::AssignmentRecord RecordOf(int64_t epoch, const std::vector<std::string>& names) {
  storage::v1::AssignmentRecord record;
  record.set_epoch(epoch);
  for (const std::string& name : names) {
    auto& member = *record.add_members();
    member.set_service(kJob);
    member.set_replica(name);
  }
  return record;
}

TEST(PastMembersTest, EachEpochHasTheMembersOfItsTime) {
  PastMembers past;
  past.Add(AssignmentOf(0, {}), RecordOf(5, {"a"}));     // Until epoch 4, the owners are lost.
  past.Add(AssignmentOf(5, {"a"}), RecordOf(6, {"a"}));  // Only the incarnation changes.
  past.Add(AssignmentOf(6, {"a"}), RecordOf(9, {"b"}));  // Until epoch 8, the owner is a.
  past.Add(AssignmentOf(9, {"b"}), RecordOf(10, {}));    // In epoch 9, the owner is b.
  past.Add(AssignmentOf(10, {}), RecordOf(11, {"c"}));   // In epoch 10, there is no owner.
  storage::v1::AssignmentRecord record = RecordOf(11, {"c"});
  past.Save(record);
  EXPECT_EQ(record.past_size(), 4);
  PastMembers restored;
  restored.Restore(record);
  const v1::Assignment now = AssignmentOf(11, {"c"});
  const struct {
    int64_t epoch;
    bool a, b, c;
  } rows[] = {{1, true, true, true},   {4, true, true, true},     {5, true, false, false},  {8, true, false, false},
              {9, false, true, false}, {10, false, false, false}, {11, false, false, true}, {20, false, false, true}};
  for (const auto& row : rows) {
    const PastMembers::Owners then = restored.OwnersAt(now, kJob, row.epoch);
    EXPECT_EQ(then.MayBeOf("a", 7), row.a) << row.epoch;
    EXPECT_EQ(then.MayBeOf("b", 7), row.b) << row.epoch;
    EXPECT_EQ(then.MayBeOf("c", 7), row.c) << row.epoch;
  }
  EXPECT_FALSE(restored.OwnersAt(now, v1::SERVICE_KIND_QUEUE, 11).MayBeOf("c", 7));
}

TEST(PastMembersTest, BeforeTheFirstAssignmentNothingIsKnown) {
  EXPECT_TRUE(PastMembers().OwnersAt({}, kJob, 3).MayBeOf("a", 7));
}

TEST(PastMembersTest, TheOldestAreForgottenBeyondABoundOfBytes) {
  PastMembers past;
  std::vector<std::string> names;
  for (int64_t epoch = 1; epoch < 2000; ++epoch) {
    const std::vector<std::string> before = names;
    names = {fmt::format("{}-{}", std::string(200, 'r'), epoch)};
    past.Add(AssignmentOf(epoch, before), RecordOf(epoch + 1, names));
  }
  storage::v1::AssignmentRecord record;
  past.Save(record);
  EXPECT_LE(record.ByteSizeLong(), PastMembers::kMostBytes + 5000);
  EXPECT_GT(record.past_size(), 400);
  EXPECT_EQ(record.past(record.past_size() - 1).last_epoch(), 1999);
}

}  // namespace
}  // namespace basalt::gateway
