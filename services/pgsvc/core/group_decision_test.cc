#include "services/pgsvc/core/group_decision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::pgsvc {
namespace {

using Kind = GroupDecision::Kind;
using podgroup::v1::EnsurePodGroupRequest;

kube::v1::PodGroup Group(const std::string& uid, const std::string& owner_uid, int min_member = 1) {
  kube::v1::PodGroup group;
  group.mutable_meta()->set_uid(uid);
  if (!owner_uid.empty()) {
    kube::v1::OwnerReference& owner = *group.mutable_meta()->add_owner_references();
    owner.set_controller(true);
    owner.set_uid(owner_uid);
  }
  group.mutable_spec()->set_min_member(min_member);
  return group;
}

EnsurePodGroupRequest Request(int min_member = 1) {
  EnsurePodGroupRequest request;
  request.set_job_name("train");
  request.set_job_uid("job-1");
  request.set_version(3);
  request.mutable_spec()->set_min_member(min_member);
  return request;
}

TEST(GroupDecisionTest, ABlockedGroupIsReportedOnceForEachCause) {
  const GroupDecision created{.kind = Kind::kCreated, .asked_by = "job train"};
  const GroupDecision refused = RefusalOf(created, "no quota");
  const struct {
    GroupDecision last, next;
    bool repeated;
  } cases[] = {
      {refused, refused, true},
      {created, refused, false},
      {refused, RefusalOf(created, "the queue is closed"), false},
      {created, created, false},
      {refused, created, false},
      {ForeignFor(Request(), Group("pg-1", "x")), ForeignFor(Request(), Group("pg-1", "x")), true},
      {ForeignFor(Request(), Group("pg-1", "x")), ForeignFor(Request(), Group("pg-2", "x")), false},
  };
  for (const auto& c : cases) EXPECT_EQ(IsRepeated(c.last, c.next), c.repeated) << c.next.message;
}

TEST(GroupDecisionTest, AnUpdateNamesTheFieldsThatItChanges) {
  EnsurePodGroupRequest request = Request(4);
  request.mutable_spec()->set_priority_class_name("high");
  const GroupDecision update = UpdateFor(request, Group("pg-1", "job-1"));
  EXPECT_EQ(update.kind, Kind::kUpdated);
  EXPECT_EQ(update.uid, "pg-1");
  EXPECT_EQ(update.asked_by, "job train");
  EXPECT_EQ(update.version, 3);
  EXPECT_EQ(update.fields, (std::vector<std::string>{"minMember", "priorityClassName"}));
}

TEST(GroupDecisionTest, ADeletionSaysWhy) {
  EnsurePodGroupRequest request = Request();
  EXPECT_EQ(ReplacementFor(request, Group("pg-1", "job-1")).message,
            "it is of an older version: the job is at version 3");
  request.set_kill_uid("pg-1");
  EXPECT_EQ(ReplacementFor(request, Group("pg-1", "job-1")).message,
            "the job's pods are being killed, and their group with them");
}

TEST(GroupDecisionTest, AForeignGroupIsToldWithItsOwner) {
  EXPECT_EQ(ForeignFor(Request(), Group("pg-1", "x")).message, "its owner has UID x, the job job-1");
  EXPECT_EQ(ForeignFor(Request(), Group("pg-1", "")).message, "it has no owner");
}

TEST(GroupDecisionTest, TheOutcomeOfAWriteIsReadFromTheGroup) {
  const EnsurePodGroupRequest request = Request(2);
  const kube::v1::PodGroup ours = Group("pg-1", "job-1", 2);
  const kube::v1::PodGroup other_fields = Group("pg-1", "job-1", 9);
  const kube::v1::PodGroup foreign = Group("pg-1", "x", 2);
  kube::v1::PodGroup going = ours;
  going.mutable_meta()->set_deletion_ms(5);
  const kube::v1::PodGroup next = Group("pg-2", "job-1", 2);
  const GroupDecision create = CreationFor(request);
  const GroupDecision update = UpdateFor(request, other_fields);
  const GroupDecision removal = ReplacementFor(request, ours);
  const struct {
    const GroupDecision* sent;
    const kube::v1::PodGroup* observed;
    bool carried_out;
  } cases[] = {
      {&create, nullptr, false}, {&create, &ours, true},          {&create, &foreign, false}, {&update, nullptr, false},
      {&update, &ours, true},    {&update, &other_fields, false}, {&update, &next, false},    {&removal, nullptr, true},
      {&removal, &ours, false},  {&removal, &going, true},        {&removal, &next, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IsCarriedOut(*c.sent, c.observed, &request), c.carried_out)
        << static_cast<int>(c.sent->kind) << (c.observed == nullptr ? "-" : c.observed->meta().uid());
  }
}

}  // namespace
}  // namespace basalt::pgsvc
