#include "gateway/users/reviews.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "common/exec/sim_loop.h"
#include "common/testing/status_matchers.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAnn[] =
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ann","uid":"7","groups":["a","b"],)"
    R"("extra":{"example.com/scope":["x","y"]}}}})";
constexpr char kNobody[] = R"({"kind":"TokenReview","status":{"authenticated":false,"error":"bad"}})";

std::string Access(bool allowed) {
  return fmt::format(R"({{"kind":"SubjectAccessReview","status":{{"allowed":{},"reason":"RBAC"}}}})", allowed);
}

v1::AccessQuestion Question(const std::string& verb, const std::string& ns = "team-a") {
  v1::AccessQuestion question;
  question.set_verb(verb);
  question.set_group("batch.volcano.sh");
  question.set_resource("jobs");
  question.set_namespace_(ns);
  return question;
}

class ReviewsTest : public ::testing::Test {
 protected:
  ~ReviewsTest() override { time.Advance(absl::ZeroDuration()); }
  // The optional is empty until the review is answered.
  using Known = std::shared_ptr<std::optional<absl::StatusOr<v1::UserClaims>>>;
  Known Token(const std::string& token) {
    auto known = std::make_shared<std::optional<absl::StatusOr<v1::UserClaims>>>();
    reviews.ReviewToken(token, [known](absl::StatusOr<v1::UserClaims> claims) { *known = std::move(claims); });
    return known;
  }
  using Response = std::shared_ptr<std::optional<absl::StatusOr<v1::ReviewAccessResponse>>>;
  Response Ask(const std::string& user, const std::vector<v1::AccessQuestion>& questions) {
    auto response = std::make_shared<std::optional<absl::StatusOr<v1::ReviewAccessResponse>>>();
    v1::UserClaims claims;
    claims.set_user(user);
    reviews.ReviewAccess(claims, questions, [response](absl::StatusOr<v1::ReviewAccessResponse> answer) {
      *response = std::move(answer);
    });
    return response;
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  std::vector<std::string> answered;  // The codes and resources that on_review was called with.
  Reviews reviews{loop,
                  client,
                  *metrics,
                  {.max_under_way = 2,
                   .max_waiting = 10,
                   .max_waiting_of = 3,
                   .on_review = [this](const std::string& resource, const v1::KubeError* error) {
                     answered.push_back(fmt::format("{} {}", error == nullptr ? 0 : error->code(), resource));
                   }}};
};

TEST_F(ReviewsTest, AKnownTokenCountsForAMinuteWhateverTheServerDoes) {
  const Known first = Token("secret");
  ASSERT_EQ(client.started(), 1u);
  EXPECT_THAT(client.last().request().target, HasSubstr("/apis/authentication.k8s.io/v1/tokenreviews?"));
  EXPECT_EQ(client.last().request().body,
            R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"secret"}})");
  client.last().Answer(201, kAnn);
  ASSERT_TRUE(first->has_value());
  ASSERT_THAT(**first, IsOk());
  EXPECT_EQ((*first)->value().user(), "ann");
  EXPECT_EQ((*first)->value().groups_size(), 2);
  EXPECT_EQ((*first)->value().extra(0).values(1), "y");
  time.Advance(absl::Seconds(59));
  EXPECT_THAT(**Token("secret"), IsOk());
  EXPECT_EQ(client.started(), 1u);
  time.Advance(absl::Seconds(1));
  const Known late = Token("secret");
  ASSERT_EQ(client.started(), 2u);
  client.last().Answer(500, Refusal(500, "InternalError"));
  EXPECT_THAT(**late, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TokenReview")));
  const Known hanging = Token("secret");
  client.last().End(absl::DeadlineExceededError("no answer"));
  EXPECT_THAT(**hanging, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer")));
}

TEST_F(ReviewsTest, ATokenThatNobodyHasIsNotAskedForAgainAtOnce) {
  const Known first = Token("guess");
  client.last().Answer(201, kNobody);
  EXPECT_THAT(**first, StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(**Token("guess"), StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_EQ(client.started(), 1u);
  time.Advance(absl::Seconds(10));
  Token("guess");
  EXPECT_EQ(client.started(), 2u);
}

TEST_F(ReviewsTest, ARightThatTheGatewayLacksIsNamed) {
  const Known known = Token("secret");
  client.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_THAT(**known, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("may not create a TokenReview")));
  const Response response = Ask("ann", {Question("get")});
  client.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_THAT(**response,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("may not create a SubjectAccessReview")));
  Token("secret");
  client.last().Answer(201, kAnn);
  Token("another");
  client.last().End(absl::DeadlineExceededError("no answer"));
  EXPECT_THAT(answered,
              ElementsAre("403 tokenreviews.authentication.k8s.io", "403 subjectaccessreviews.authorization.k8s.io",
                          "0 tokenreviews.authentication.k8s.io"))
      << "readiness is told what the API server has said";
}

TEST_F(ReviewsTest, AnAllowedAccessCountsForFiveMinutesAndARefusedOneForHalfAMinute) {
  const Response response = Ask("ann", {Question("get"), Question("delete")});
  ASSERT_EQ(client.started(), 2u);
  EXPECT_EQ(
      client.at(0).request().body,
      R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"ann","groups":[],)"
      R"("resourceAttributes":{"verb":"get","group":"batch.volcano.sh","resource":"jobs","namespace":"team-a"}}})");
  client.at(1).Answer(201, Access(false));
  EXPECT_FALSE(response->has_value());
  client.at(0).Answer(201, Access(true));
  ASSERT_THAT(**response, IsOk());
  const auto& answers = (*response)->value().answers();
  EXPECT_TRUE(answers[0].allowed());
  EXPECT_EQ(answers[0].valid_ms(), 300'000);
  EXPECT_FALSE(answers[1].allowed());
  EXPECT_EQ(answers[1].valid_ms(), 30'000);
  time.Advance(absl::Seconds(30));
  Ask("ann", {Question("get"), Question("delete")});
  EXPECT_EQ(client.started(), 3u) << "only what was refused is asked again";
  time.Advance(absl::Minutes(5));
  Ask("ann", {Question("get")});
  EXPECT_EQ(client.started(), 4u);
}

TEST_F(ReviewsTest, TheSameQuestionIsAskedOnceForAllWhoWaitAndNobodyHearsOfAnother) {
  const Response first = Ask("ann", {Question("get")});
  const Response second = Ask("ann", {Question("get")});
  const Response other = Ask("bob", {Question("get")});
  ASSERT_EQ(client.started(), 2u);
  client.at(0).Answer(201, Access(true));
  EXPECT_TRUE((*first)->value().answers(0).allowed());
  EXPECT_TRUE((*second)->value().answers(0).allowed());
  EXPECT_FALSE(other->has_value());
}

TEST_F(ReviewsTest, AUserWhoAsksTooMuchHoldsUpNobodyElse) {
  std::vector<v1::AccessQuestion> questions;
  for (int i = 0; i < 6; ++i) questions.push_back(Question("get", fmt::format("ns-{}", i)));
  const Response flood = Ask("ann", questions);  // Two reviews are under way, and three wait.
  EXPECT_EQ(client.started(), 2u);
  const Response response = Ask("bob", {Question("get")});
  EXPECT_FALSE(response->has_value());
  client.at(0).Answer(201, Access(true));
  EXPECT_THAT(client.last().request().body, HasSubstr("bob")) << "users have turns";
  client.last().Answer(201, Access(true));
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(**response, IsOk());
  for (size_t i = 0; i < client.started(); ++i) {
    if (client.at(i).open()) client.at(i).Answer(201, Access(true));
  }
  ASSERT_TRUE(flood->has_value());
  EXPECT_THAT(**flood, StatusIs(absl::StatusCode::kResourceExhausted)) << "one question too many";
}

TEST_F(ReviewsTest, TokensOfStrangersLeaveRoomForTheRightsOfUsers) {
  for (int i = 0; i < 5; ++i) Token(fmt::format("guess-{}", i));
  EXPECT_EQ(client.started(), 1u);
  const Response response = Ask("ann", {Question("get")});
  ASSERT_EQ(client.started(), 2u);
  client.last().Answer(201, Access(true));
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(**response, IsOk());
}

}  // namespace
}  // namespace basalt::gateway
