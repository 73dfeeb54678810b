#include "common/rpc/grpc/user_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "common/exec/sim_loop.h"
#include "common/testing/status_matchers.h"
#include "common/time/sim_time.h"

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

class UserAccessTest : public ::testing::Test {
 protected:
  UserAccessTest() {
    const auto guard =
        std::make_shared<CallGuard>(identity::IdentityRules("basalt.local", "blue"),
                                    std::make_shared<identity::DeniedList>(), [this](const RefusedCall& call) {
                                      refused.push_back(std::string(call.client) + " " + std::string(call.reason));
                                    });
    const auto review = [this](const gateway::v1::ReviewAccessRequest& request,
                               Done<gateway::v1::ReviewAccessResponse> done) {
      ++reviews;
      if (!answer.ok()) return done(answer);
      gateway::v1::ReviewAccessResponse response;
      for (const auto& question : request.questions()) {
        groups.push_back(question.group());
        asked.push_back(question.verb() + " " + question.namespace_() + "/" + question.name());
        auto& one = *response.add_answers();
        one.set_allowed(allowed.contains(asked.back()));
        one.set_valid_ms(30'000);
      }
      done(std::move(response));
    };
    access = std::make_shared<UserAccess>(loop, guard, review, TokenBucketOptions{.per_second = 1, .burst = 3});
  }

  // As a token that counts would name the user.
  static Client User(const std::string& name) {
    gateway::v1::UserClaims claims;
    claims.set_user(name);
    gateway::v1::UserToken token;
    token.set_claims(claims.SerializeAsString());
    return {.is_user = true, .uri = "user:" + name, .user_token = token.SerializeAsString(), .user = name};
  }
  absl::Status Check(const Client& client, const identity::Right& right, const Target& target) {
    std::optional<absl::Status> status;
    access->Check(client, right, target, [&](const absl::StatusOr<bool>& may) { status = may.status(); });
    time.RunDueTasks();
    EXPECT_TRUE(status.has_value());
    return status.value_or(absl::InternalError("no answer"));
  }

  SimTime time;
  SimLoop loop{time, "main"};
  std::shared_ptr<UserAccess> access;
  absl::Status answer;
  std::set<std::string> allowed;
  std::vector<std::string> asked, groups;
  int reviews = 0;
  std::vector<std::string> refused;
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

TEST_F(UserAccessTest, WhatEveryUserMaySeeIsNotReviewed) {
  EXPECT_THAT(Check(User("ann"), kListRules, {}), IsOk());
  EXPECT_EQ(reviews, 0);
}

TEST_F(UserAccessTest, ObjectsOfAnotherGroupNeedARightOfTheirOwn) {
  allowed = {"get team-a/"};
  EXPECT_THAT(Check(User("ann"), kGet, {.ns = "team-a", .name = "", .group = "scheduling.run.ai"}), IsOk());
  EXPECT_THAT(groups, ElementsAre("scheduling.run.ai"));
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
