#include "gateway/users/token_issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "common/base/json.h"
#include "common/exec/sim_loop.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "common/testing/status_matchers.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAnnsReview[] =
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ann","groups":["team-a"]}}})";

class TokenIssuerTest : public ::testing::Test {
 protected:
  TokenIssuerTest() {
    UserKeys keys;
    keys.cluster = "blue";
    keys.verify = [](std::string_view token) -> absl::StatusOr<v1::UserClaims> {
      v1::UserClaims claims;
      if (token.empty() || !claims.ParseFromArray(token.data(), static_cast<int>(token.size()))) {
        return absl::UnauthenticatedError("no token");
      }
      return claims;
    };
    keys.check_certificate = [this](std::string_view) { return certificate; };
    keys.is_denied = [this](std::string_view user) { return denied.contains(std::string(user)); };
    keys.allow = [this](const std::string& whose) { return allowed_calls-- > 0 || whose.empty(); };
    keys.now = [this] { return time.Now(); };
    keys.sign = [](const v1::UserClaims& claims) { return claims.SerializeAsString(); };
    keys.set_authorities = [this](const std::shared_ptr<const identity::Authorities>&) { ++authorities; };
    issuer.emplace(loop, client, *metrics, std::move(keys), TokenIssuerOptions());
  }
  ~TokenIssuerTest() override { time.Advance(absl::ZeroDuration()); }

  using Answer = std::shared_ptr<std::optional<absl::StatusOr<v1::LogInResponse>>>;
  Answer LogIn(const std::string& token, const std::string& chain = "") {
    auto answer = std::make_shared<std::optional<absl::StatusOr<v1::LogInResponse>>>();
    v1::LogInRequest request;
    request.set_kubernetes_token(token);
    issuer->LogIn(request, chain, "ipv4:10.0.0.7",
                  [answer](absl::StatusOr<v1::LogInResponse> got) { *answer = std::move(got); });
    return answer;
  }
  static v1::UserClaims ClaimsOf(const Answer& answer) {
    v1::UserClaims claims;
    EXPECT_TRUE(answer->has_value());
    if (!answer->has_value()) return claims;
    EXPECT_THAT(**answer, IsOk());
    EXPECT_TRUE((*answer)->ok() && claims.ParseFromString((*answer)->value().token()));
    return claims;
  }
  static std::string AuthorityMap(const std::string& pem) {
    json::object map;
    ObjectIn(map, "data")["client-ca-file"] = pem;
    return ToText(map);
  }

  const http::testing::Certificate own =
      http::testing::MakeCertificate({.common_name = "ann", .organisation = "team-a"});
  // A moment in the lifetime of the certificate, which is made now.
  SimTime time{identity::ReadCertificate(own.cert_pem)->not_after - absl::Minutes(1)};
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  absl::Status certificate;
  std::set<std::string> denied;
  int authorities = 0;
  int allowed_calls = 100;
  std::optional<TokenIssuer> issuer;
};

TEST_F(TokenIssuerTest, WhomKubernetesKnowsGetsATokenForTenMinutes) {
  const Answer answer = LogIn("secret");
  client.last().Answer(201, kAnnsReview);
  const v1::UserClaims claims = ClaimsOf(answer);
  EXPECT_EQ(claims.cluster(), "blue");
  EXPECT_EQ(claims.user(), "ann");
  EXPECT_THAT(claims.groups(), ElementsAre("team-a"));
  EXPECT_EQ(claims.expire_time().seconds() - claims.issue_time().seconds(), 600);
  EXPECT_EQ((*answer)->value().user(), "ann");
  EXPECT_EQ((*answer)->value().expire_time().seconds(), claims.expire_time().seconds());
}

TEST_F(TokenIssuerTest, AUsersCertificateNamesUserAndGroupsAndBoundsTheToken) {
  const v1::UserClaims claims = ClaimsOf(LogIn("", own.cert_pem));
  EXPECT_EQ(claims.user(), "ann");
  EXPECT_THAT(claims.groups(), ElementsAre("team-a", "system:authenticated"));
  EXPECT_LE(claims.expire_time().seconds() - claims.issue_time().seconds(), 61);
}

TEST_F(TokenIssuerTest, StrangersAreRefusedInWords) {
  EXPECT_THAT(**LogIn(""),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("neither a certificate nor a token")));
  certificate = absl::UnauthenticatedError("not of the cluster");
  EXPECT_THAT(**LogIn("", "chain"), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not of the cluster")));
  denied.insert("ann");
  const Answer answer = LogIn("secret");
  client.last().Answer(201, kAnnsReview);
  EXPECT_THAT(**answer, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("denied")));
}

TEST_F(TokenIssuerTest, AHostLogsInSoOftenWhateverItShows) {
  const size_t before = client.started();
  allowed_calls = 1;
  LogIn("secret");
  EXPECT_THAT(**LogIn("guess"), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--user_rate")));
  EXPECT_EQ(client.started(), before + 1) << "the API server is not asked";
}

TEST_F(TokenIssuerTest, RightsAreReviewedForTokensThatCountAlone) {
  const auto ask = [&](const std::string& token, int questions) {
    v1::ReviewAccessRequest request;
    request.set_token(token);
    for (int i = 0; i < questions; ++i) request.add_questions()->set_verb("get");
    std::optional<absl::StatusCode> code;
    issuer->ReviewAccess(request, [&](const auto& answer) { code = answer.status().code(); });
    return code;
  };
  v1::UserClaims claims;
  claims.set_user("ann");
  EXPECT_EQ(ask("", 1), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ask(claims.SerializeAsString(), 1001), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ask(claims.SerializeAsString(), 0), absl::StatusCode::kOk);
  // The rights of one user are reviewed once, whenever the tokens were issued.
  const size_t before = client.started();
  for (int i = 0; i < 2; ++i) {
    claims.mutable_issue_time()->set_seconds(i);
    v1::ReviewAccessRequest request;
    request.set_token(claims.SerializeAsString());
    request.add_questions()->set_verb("list");
    issuer->ReviewAccess(request, [](const auto&) {});
  }
  EXPECT_EQ(client.started(), before + 1);
}

TEST_F(TokenIssuerTest, TheClientAuthorityIsReadAgainFromTimeToTime) {
  const auto authority = http::testing::MakeCertificate({.common_name = "ca", .authority = true});
  EXPECT_EQ(client.at(0).request().target,
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  client.at(0).Answer(403, Refusal(403, "Forbidden"));
  EXPECT_EQ(authorities, 0);
  time.Advance(absl::Seconds(10));
  ASSERT_EQ(client.started(), 2u);
  client.at(1).Answer(200, AuthorityMap(authority.cert_pem));
  EXPECT_EQ(authorities, 1);
  time.Advance(absl::Minutes(5));
  ASSERT_EQ(client.started(), 3u);
  client.at(2).Answer(200, AuthorityMap(authority.cert_pem));
  EXPECT_EQ(authorities, 1) << "as it was";
  time.Advance(absl::Minutes(5));
  client.at(3).Answer(200, AuthorityMap(authority.cert_pem + authority.cert_pem));
  EXPECT_EQ(authorities, 2);
}

}  // namespace
}  // namespace basalt::gateway
