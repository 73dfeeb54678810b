#include "common/identity/user_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "common/identity/openssl.h"
#include "common/testing/status_matchers.h"

namespace basalt::identity {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

google::protobuf::Timestamp At(absl::Time time) {
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(absl::ToUnixSeconds(time));
  return stamp;
}

class UserTokenTest : public ::testing::Test {
 protected:
  static KeyPair MakeAuthorityNow() { return *MakeAuthority("a", {kNow - absl::Hours(1), kNow + absl::Hours(48)}); }
  static KeyPair Certify(const KeyPair& authority, Role role, const std::string& cluster = "blue") {
    return *Issue(authority, {.trust_domain = "basalt.local", .cluster = cluster, .role = role, .replica = "r-0"},
                  {kNow - absl::Hours(1), kNow + absl::Hours(24)});
  }
  static gateway::v1::UserClaims Ann() {
    gateway::v1::UserClaims claims;
    claims.set_cluster("blue");
    claims.set_user("ann");
    claims.add_groups("team-a");
    *claims.mutable_issue_time() = At(kNow);
    *claims.mutable_expire_time() = At(kNow + absl::Minutes(10));
    return claims;
  }
  absl::StatusOr<gateway::v1::UserClaims> Verify(const std::string& token, absl::Time now = kNow) const {
    return (*Authorities::FromPem(authority_.certificate_pem))->VerifyUserToken(token, rules_, now);
  }

  const KeyPair authority_ = MakeAuthorityNow();
  const KeyPair gateway_ = Certify(authority_, Role::kGateway);
  const IdentityRules rules_{"basalt.local", "blue"};
};

TEST_F(UserTokenTest, ATokenSignedByAGatewayIsValidForItsTime) {
  const auto token = SignUserToken(Ann(), gateway_);
  ASSERT_THAT(token, IsOk());
  const auto claims = Verify(*token);
  ASSERT_THAT(claims, IsOk());
  EXPECT_EQ(claims->SerializeAsString(), Ann().SerializeAsString());
  EXPECT_THAT(Verify(*token, kNow + absl::Minutes(9)), IsOk());
  EXPECT_THAT(Verify(*token, kNow + absl::Minutes(10)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("over")));
  EXPECT_THAT(Verify(*token, kNow - absl::Minutes(2)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("from the future")));
}

TEST_F(UserTokenTest, NobodyElseSignsATokenThatIsBelieved) {
  gateway::v1::UserToken forged;
  ASSERT_TRUE(forged.ParseFromString(*SignUserToken(Ann(), gateway_)));
  gateway::v1::UserClaims root = Ann();
  root.set_user("root");
  forged.set_claims(root.SerializeAsString());
  gateway::v1::UserToken other_key;
  ASSERT_TRUE(other_key.ParseFromString(*SignUserToken(Ann(), Certify(authority_, Role::kJobsvc))));
  gateway::v1::UserToken good;
  ASSERT_TRUE(good.ParseFromString(*SignUserToken(Ann(), gateway_)));
  *other_key.mutable_certificates() = good.certificates();
  gateway::v1::UserClaims green = Ann();
  green.set_cluster("green");
  const struct {
    std::string token;
    const char* why;
  } cases[] = {
      {"", "cannot be read"},
      {"rubbish", "cannot be read"},
      {std::string(kMostUserTokenBytes + 1, 'x'), "cannot be read"},
      {forged.SerializeAsString(), "not that of its certificate"},
      {other_key.SerializeAsString(), "not that of its certificate"},
      {*SignUserToken(Ann(), Certify(authority_, Role::kJobsvc)), "signed by the role jobsvc"},
      {*SignUserToken(Ann(), Certify(authority_, Role::kOperator)), "signed by the role operator"},
      {*SignUserToken(Ann(), Certify(authority_, Role::kGateway, "green")), "green"},
      {*SignUserToken(green, gateway_), "cluster 'green'"},
      {*SignUserToken(Ann(), Certify(MakeAuthorityNow(), Role::kGateway)), "not of an authority of this suite"},
      {*SignUserToken({}, gateway_), "names no user"},
  };
  for (const auto& test : cases) {
    EXPECT_THAT(Verify(test.token), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(test.why)));
  }
}

// With TLS 1.2 the same key signs a random number of the client, one of the server, and parameters. A client can choose
// its number so that the whole text reads as claims.
TEST_F(UserTokenTest, ASignatureThatTheKeyHasGivenForSomethingElseMakesNoToken) {
  gateway::v1::UserToken token;
  ASSERT_TRUE(token.ParseFromString(*SignUserToken(Ann(), gateway_)));
  const openssl::Key key = openssl::PrivateKey(gateway_.key_pem);
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> digest(EVP_MD_CTX_new());
  const std::string claims = Ann().SerializeAsString();
  std::string signature(256, '\0');
  size_t size = signature.size();
  ASSERT_EQ(EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key.get()), 1);
  ASSERT_EQ(EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                           reinterpret_cast<const unsigned char*>(claims.data()), claims.size()),
            1);
  signature.resize(size);
  token.set_signature(signature);
  EXPECT_THAT(Verify(token.SerializeAsString()),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not that of its certificate")));
}

TEST_F(UserTokenTest, ATokenCountsForTenMinutesAtMostWhoeverSignsIt) {
  gateway::v1::UserClaims claims = Ann();
  *claims.mutable_expire_time() = At(kNow + absl::Minutes(11));
  EXPECT_THAT(Verify(*SignUserToken(claims, gateway_)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("too long")));
}

TEST_F(UserTokenTest, CertificateAndKeyOfTheSignerBelongTogether) {
  KeyPair mixed = gateway_;
  mixed.key_pem = Certify(authority_, Role::kGateway).key_pem;
  EXPECT_THAT(SignUserToken(Ann(), mixed), StatusIs(absl::StatusCode::kInvalidArgument));
}

// gRPC and Kubernetes, too, trust any certificate among the authorities.
TEST_F(UserTokenTest, AnAuthorityMayBeAnIntermediateOne) {
  const auto root = http::testing::MakeCertificate({.common_name = "root", .alternative_names = "", .authority = true});
  const auto middle =
      http::testing::MakeCertificate({.common_name = "middle", .alternative_names = "", .authority = true}, root);
  const auto own = http::testing::MakeCertificate({.common_name = "ann", .alternative_names = ""}, middle);
  const absl::Time in_time = ReadCertificate(own.cert_pem)->not_after - absl::Minutes(1);
  EXPECT_THAT((*Authorities::FromPem(middle.cert_pem))->VerifyClient(own.cert_pem, in_time), IsOk());
}

TEST_F(UserTokenTest, ATokenThatNoCallCouldCarryIsNotSigned) {
  gateway::v1::UserClaims claims = Ann();
  for (int i = 0; i < 1000; ++i) claims.add_groups("a-group-of-many-" + std::to_string(i));
  EXPECT_THAT(SignUserToken(claims, gateway_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("user 'ann' with 1001 groups")));
}

TEST_F(UserTokenTest, AClientIsOfTheAuthoritiesThatItsChainLeadsTo) {
  const auto authorities = *Authorities::FromPem(authority_.certificate_pem);
  EXPECT_THAT(authorities->VerifyClient(gateway_.certificate_pem, kNow), IsOk());
  EXPECT_THAT(authorities->VerifyClient(gateway_.certificate_pem, kNow + absl::Hours(30)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  EXPECT_THAT(authorities->VerifyClient(Certify(MakeAuthorityNow(), Role::kGateway).certificate_pem, kNow),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not of an authority")));
  EXPECT_THAT(authorities->VerifyClient("", kNow), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("read")));
}

TEST(UriOfUserTest, NamesOfUsersHaveOneSpelling) {
  EXPECT_EQ(UriOfUser("ann@example.com"), "user:ann@example.com");
  EXPECT_EQ(UriOfUser("system:serviceaccount:a:b"), "user:system:serviceaccount:a:b");
  EXPECT_EQ(UriOfUser("a b/\xc3\xa9\n"), "user:a%20b%2F%C3%A9%0A");
}

}  // namespace
}  // namespace basalt::identity
