#include "common/rpc/grpc/user_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "common/rpc/grpc/user_access_fixture.h"
#include "common/testing/status_matchers.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const identity::Right& kGet = *identity::FindRightOfRequest("basalt.job.v1.GetJobRequest");
const identity::Right& kSubmit = *identity::FindRightOfRequest("basalt.job.v1.SubmitJobRequest");
const identity::Right& kListRules = *identity::FindRightOfRequest("basalt.podgroup.v1.ListGroupingRulesRequest");

class UserAccessTest : public UserAccessFixture {
 protected:
  absl::Status Check(const Client& client, const identity::Right& right, const Target& target) {
    std::optional<absl::Status> status;
    access->Check(client, right, target, [&](const absl::StatusOr<bool>& may) { status = may.status(); });
    time.RunDueTasks();
    EXPECT_TRUE(status.has_value());
    return status.value_or(absl::InternalError("no answer"));
  }
};

TEST_F(UserAccessTest, WhoMayDoItToAllObjectsOfANamespaceIsAskedForOnce) {
  allowed = {"get team-a/"};
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "x"}), IsOk());
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "y"}), IsOk());
  EXPECT_THAT(asked, ElementsAre("get team-a/"));
  time.Advance(absl::Seconds(30));
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "y"}), IsOk());
  EXPECT_EQ(reviews, 2) << "the answer has ended";
}

TEST_F(UserAccessTest, ARightOnOneObjectIsARightOnThatOneAlone) {
  allowed = {"get team-a/x"};
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "x"}), IsOk());
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "y"}),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("user 'ann' may not get jobs.batch.volcano.sh in namespace 'team-a'"),
                             ::testing::Not(HasSubstr("y'")))));
  EXPECT_THAT(asked, ElementsAre("get team-a/", "get team-a/x", "get team-a/y"));
  EXPECT_THAT(refused, ElementsAre("user:ann right"));
}

TEST_F(UserAccessTest, TheRightsOfOneUserAreNotAnothers) {
  allowed = {"create team-a/"};
  EXPECT_THAT(Check(User("ann"), kSubmit, {.ns = "team-a", .name = "x"}), IsOk());
  allowed.clear();
  EXPECT_THAT(Check(User("bob"), kSubmit, {.ns = "team-a", .name = "x"}),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(Check(User("ann"), kSubmit, {.ns = "team-b", .name = "x"}),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(asked, ElementsAre("create team-a/", "create team-a/", "create team-b/"));
}

TEST_F(UserAccessTest, NobodyIsLetInBecauseNobodyAnswers) {
  for (const absl::Status& why :
       {absl::UnavailableError("a"), absl::UnimplementedError("b"), absl::UnknownError("c")}) {
    answer = why;
    EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = ""}), StatusIs(absl::StatusCode::kUnavailable));
  }
  answer = absl::UnauthenticatedError("its time is over");
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = ""}), StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(UserAccessTest, ACallForEveryUserIsNotReviewed) {
  EXPECT_THAT(Check(User("ann"), kListRules, {}), IsOk());
  EXPECT_EQ(reviews, 0);
}

TEST_F(UserAccessTest, ObjectsOfAnotherGroupNeedARightOfTheirOwn) {
  const Target target{.ns = "team-a", .name = "", .group = "scheduling.run.ai"};
  allowed = {"get team-a/"};
  EXPECT_THAT(Check(User("ann"), kGet, target), StatusIs(absl::StatusCode::kPermissionDenied));
  allowed = {"get team-a/ of scheduling.run.ai"};
  EXPECT_THAT(Check(User("bob"), kGet, target), IsOk());
}

TEST_F(UserAccessTest, ANamespaceServesSoManyCallsAndThoseThatAreRefusedTakeNothingOfIt) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Check(User("bob"), kGet, {.ns = "team-a", .name = ""}), StatusIs(absl::StatusCode::kPermissionDenied));
  }
  allowed = {"get team-a/", "get team-b/"};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = ""}), IsOk());
  EXPECT_THAT(Check(User("cid"), kGet, {.ns = "team-a", .name = ""}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--namespace_rate")));
  EXPECT_THAT(Check(User("cid"), kGet, {.ns = "team-b", .name = ""}), IsOk());
  EXPECT_THAT(refused.back(), "user:cid rate");
}

TEST_F(UserAccessTest, NamespacesAreAskedForTogether) {
  allowed = {"get b/"};
  std::vector<bool> may;
  access->CheckAll(User("ann"), kGet, {{.ns = "a"}, {.ns = "b"}, {.ns = "c"}},
                   [&](absl::StatusOr<std::vector<bool>> got) { may = *std::move(got); });
  time.RunDueTasks();
  EXPECT_THAT(may, ElementsAre(false, true, false));
  EXPECT_EQ(reviews, 1);
}

}  // namespace
}  // namespace basalt::rpc
