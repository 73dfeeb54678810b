#include "gateway/health/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReadinessTest : public ::testing::Test {
 protected:
  std::optional<obs::Health::Target> Find(std::string_view name) const {
    for (const obs::Health::Target& target : health_.Targets()) {
      if (target.name == name) return target;
    }
    return std::nullopt;
  }
  obs::Health::Target Server() const { return *Find("API server"); }
  static v1::KubeError Refusal(int code, const std::string& message) {
    v1::KubeError error;
    error.set_code(code);
    error.set_message(message);
    return error;
  }

  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  obs::Health health_{&time_};
  Readiness readiness_{loop_, *metrics_, health_};
  const Problem unreachable_ = ProblemOf(absl::UnavailableError("refused"));
};

TEST_F(ReadinessTest, BeforeItsFirstAnswerAServerIsNotReadyAndSaysWhy) {
  EXPECT_EQ(Server().state, "starting");
  readiness_.OnProblem(unreachable_);
  EXPECT_EQ(Server().state, "unreachable");
  EXPECT_FALSE(health_.IsReady());
  readiness_.OnAnswer();
  EXPECT_TRUE(health_.IsReady());
}

// Nothing may write: the lead was lost for the same reason, or another gateway leads.
TEST_F(ReadinessTest, AnswersToTheLeaseCountForTheServer) {
  using enum KubeAnswer::Outcome;
  const auto answered = [&](KubeAnswer::Outcome outcome, int code) {
    KubeAnswer answer;
    answer.outcome = outcome;
    if (code != 0) answer.error = Refusal(code, "said");
    readiness_.OnLeaseRequest(answer);
  };
  answered(kUnknown, 0);
  answered(kUnsent, 503);
  EXPECT_EQ(Server().state, "starting") << "not accepted or refused by anybody yet";
  answered(kDone, 0);
  EXPECT_EQ(Server().state, "ready");
  answered(kRefused, 401);
  EXPECT_EQ(Server().state, "unauthorized");
  EXPECT_THAT(Server().cure, HasSubstr("token"));
  answered(kUnknown, 0);
  EXPECT_EQ(Server().state, "unauthorized");
  answered(kRefused, 403);
  EXPECT_EQ(Server().state, "ready") << "that a right is missing is told elsewhere";
}

TEST_F(ReadinessTest, AShortOutageIsNoNewsALongOneIs) {
  readiness_.OnAnswer();
  readiness_.OnProblem(unreachable_);
  time_.Advance(absl::Seconds(9));
  readiness_.OnProblem(unreachable_);
  EXPECT_TRUE(health_.IsReady());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Server().state, "unreachable");
  readiness_.OnAnswer();
  EXPECT_TRUE(health_.IsReady());
  readiness_.OnProblem(unreachable_);
  readiness_.OnAnswer();
  time_.Advance(absl::Minutes(1));
  EXPECT_TRUE(health_.IsReady()) << "what is over is not told later";
}

TEST_F(ReadinessTest, ARequiredActionIsReportedAtOnce) {
  readiness_.OnAnswer();
  const v1::KubeError refused = Refusal(401, "Unauthorized");
  readiness_.OnRequest("create", "pods", &refused);
  EXPECT_EQ(Server().state, "unauthorized");
  EXPECT_THAT(metrics_->Text(), HasSubstr(R"(gateway_target{state="unauthorized",target="API server"} 1)"));
  readiness_.OnRequest("create", "pods", nullptr);
  EXPECT_TRUE(Server().ready);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("unauthorized")));
}

// The server cuts the connection on which it answered 401, so the other requests on it end without an answer.
TEST_F(ReadinessTest, AConnectionThatIsCutDoesNotHideWhatSomebodyMustDo) {
  const v1::KubeError refused = Refusal(401, "Unauthorized");
  readiness_.OnRequest("create", "pods", &refused);
  readiness_.OnProblem(unreachable_);
  EXPECT_EQ(Server().state, "unauthorized");
  time_.Advance(absl::Seconds(9));
  readiness_.OnRequest("create", "pods", &refused);
  readiness_.OnProblem(unreachable_);
  time_.Advance(absl::Seconds(9));
  readiness_.OnProblem(unreachable_);
  EXPECT_EQ(Server().state, "unauthorized");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Server().state, "unreachable") << "the server is gone since: nobody refuses anybody any more";
  readiness_.OnAnswer();
  EXPECT_TRUE(Server().ready);
}

TEST_F(ReadinessTest, AMissingRightHasATargetUntilItIsThereOrNobodyNeedsIt) {
  const v1::KubeError refused =
      Refusal(403, R"(pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "d")");
  const v1::KubeError quota = Refusal(403, R"(pods "p" is forbidden: exceeded quota: q)");
  readiness_.OnRequest("create", "pods", &refused);
  ASSERT_TRUE(Find("right to create pods").has_value());
  EXPECT_FALSE(health_.IsReady());
  EXPECT_THAT(Find("right to create pods")->cure, HasSubstr("grant create on pods"));
  readiness_.OnRequest("delete", "pods", nullptr);
  EXPECT_FALSE(health_.IsReady()) << "another right";
  readiness_.OnRequest("create", "pods", &quota);
  EXPECT_FALSE(Find("right to create pods").has_value()) << "the quota was asked: the right is there";
  readiness_.OnRequest("create", "pods", &refused);
  time_.Advance(absl::Minutes(4));
  readiness_.OnRequest("create", "pods", &refused);
  time_.Advance(absl::Minutes(4));
  EXPECT_FALSE(health_.IsReady());
  time_.Advance(absl::Minutes(1));
  EXPECT_TRUE(health_.IsReady());
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("right to create pods")));
}

TEST_F(ReadinessTest, ARightThatANamespaceOrUsersLackIsToldAndHoldsNobodyElseUp) {
  readiness_.OnAnswer();
  const v1::KubeError refused = Refusal(403, R"(User "u" cannot create resource "r" in API group "g")");
  const struct {
    const char* resource;
    const char* cure;
  } cases[] = {
      {"secrets", "deploy/rbac/plugins"},
      {"tokenreviews.authentication.k8s.io", "deploy/rbac/users"},
      {"subjectaccessreviews.authorization.k8s.io", "deploy/rbac/users"},
  };
  for (const auto& test : cases) {
    const std::string target = std::string("right to create ") + test.resource;
    readiness_.OnRequest("create", test.resource, &refused);
    ASSERT_TRUE(Find(target).has_value());
    EXPECT_EQ(Find(target)->state, "forbidden");
    EXPECT_THAT(Find(target)->cure, HasSubstr(test.cure));
    EXPECT_TRUE(health_.IsReady());
    readiness_.OnRequest("create", test.resource, nullptr);
    EXPECT_FALSE(Find(target).has_value());
  }
}

TEST(ResourceNameTest, NamesSubresourceAndGroup) {
  v1::Resource resource;
  resource.set_plural("jobs");
  resource.set_group("batch.volcano.sh");
  EXPECT_EQ(ResourceName(resource, "status"), "jobs/status.batch.volcano.sh");
  EXPECT_EQ(ResourceName(resource, ""), "jobs.batch.volcano.sh");
}

}  // namespace
}  // namespace basalt::gateway
