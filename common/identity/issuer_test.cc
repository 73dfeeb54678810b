#include "common/identity/issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/identity/certificate.h"
#include "common/testing/status_matchers.h"

namespace basalt::identity {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kFrom = absl::FromUnixSeconds(1'800'000'000);
const Identity kJobsvc{.trust_domain = "basalt.local", .cluster = "blue", .role = Role::kJobsvc, .replica = "jobsvc-0"};

TEST(IssuerTest, ACertificateStatesItsIdentityAndItsTime) {
  const auto authority = MakeAuthority("basalt authority", {kFrom, kFrom + absl::Hours(48)});
  ASSERT_THAT(authority, IsOk());
  const auto issued = Issue(*authority, kJobsvc, {kFrom, kFrom + absl::Hours(24)});
  ASSERT_THAT(issued, IsOk());
  EXPECT_THAT(CheckKey(issued->certificate_pem, issued->key_pem), IsOk());
  const auto facts = ReadCertificate(issued->certificate_pem);
  ASSERT_THAT(facts, IsOk());
  EXPECT_EQ(facts->subject, "CN=jobsvc jobsvc-0,O=basalt");
  EXPECT_THAT(facts->uris, ElementsAre(UriOf(kJobsvc)));
  EXPECT_EQ(facts->not_before, kFrom);
  EXPECT_EQ(facts->not_after, kFrom + absl::Hours(24));
}

TEST(IssuerTest, AnAuthorityIssuesNothingThatOutlivesIt) {
  const auto authority = MakeAuthority("a", {kFrom, kFrom + absl::Hours(1)});
  ASSERT_THAT(authority, IsOk());
  EXPECT_THAT(Issue(*authority, kJobsvc, {kFrom, kFrom + absl::Hours(2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the authority ends at")));
  const auto other = MakeAuthority("b", {kFrom, kFrom + absl::Hours(1)});
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(Issue({authority->certificate_pem, other->key_pem}, kJobsvc, {kFrom, kFrom + absl::Hours(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not that of the certificate")));
}

}  // namespace
}  // namespace basalt::identity
