#include "common/identity/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/testing/status_matchers.h"

namespace basalt::identity {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::HasSubstr;

TEST(IdentityTest, AUriOfEachRoleIsReadAsItIsWritten) {
  for (const Role role : kRoles) {
    const Identity identity{.trust_domain = "basalt.local", .cluster = "blue", .role = role, .replica = "r-0"};
    const absl::StatusOr<Identity> read = ParseUri(UriOf(identity));
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, identity);
    EXPECT_EQ(RoleNamed(NameOf(role)), role);
  }
  EXPECT_EQ(UriOf({"basalt.local", "blue", Role::kJobsvc, "jobsvc-0"}),
            "spiffe://basalt.local/cluster/blue/role/jobsvc/jobsvc-0");
}

TEST(IdentityTest, AUriThatIsNoIdentityIsRefusedWithThePartAndTheRule) {
  struct Case {
    const char* uri;
    const char* why;
  };
  const Case cases[] = {
      {"https://basalt.local/cluster/blue/role/jobsvc/jobsvc-0", "its scheme has to be spiffe"},
      {"spiffe://basalt.local/cluster/blue/role/jobsvc", "its form has to be"},
      {"spiffe://basalt.local/cluster/blue/role/jobsvc/jobsvc-0/", "its form has to be"},
      {"spiffe://basalt.local/cluster/blue/as/jobsvc/jobsvc-0", "its form has to be"},
      {"spiffe://Basalt/cluster/blue/role/jobsvc/jobsvc-0", "the trust domain has to be a DNS name"},
      {"spiffe://basalt.local/cluster/b.lue/role/jobsvc/jobsvc-0", "the cluster has to be a DNS label"},
      {"spiffe://basalt.local/cluster/blue/role/admin/jobsvc-0", "the role has to be one of gateway"},
      {"spiffe://basalt.local/cluster/blue/role/jobsvc/", "the replica has to be a DNS name"},
      {"", "its scheme"}};
  for (const Case& test : cases) {
    EXPECT_THAT(ParseUri(test.uri), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.why))) << test.uri;
  }
}

TEST(IdentityRulesTest, ACertificateHasOneIdentityOfTheTrustDomainAndTheCluster) {
  const IdentityRules rules("basalt.local", "blue",
                            {{.path = "ns/basalt-system/sa/basalt-jobsvc", .role = Role::kJobsvc}});
  const std::string ours = "spiffe://basalt.local/cluster/blue/role/pgsvc/pgsvc-1";
  struct Case {
    std::vector<std::string> uris;
    const char* wanted;  // The identity's URI, or a part of the refusal's message.
  };
  const Case cases[] = {
      {{ours}, ours.c_str()},
      {{"spiffe://elsewhere/cluster/blue/role/jobsvc/jobsvc-0", ours, "https://x/"}, ours.c_str()},
      {{"spiffe://basalt.local/ns/basalt-system/sa/basalt-jobsvc"}, "spiffe://basalt.local/cluster/blue/role/jobsvc/"},
      {{"spiffe://basalt.local/ns/other/sa/basalt-jobsvc"}, "its form has to be"},
      {{}, "has 0 identities of trust domain basalt.local"},
      {{"spiffe://basalt.local.evil/cluster/blue/role/jobsvc/jobsvc-0"}, "has 0 identities"},
      {{ours, "spiffe://basalt.local/cluster/blue/role/gateway/gateway-0"}, "has 2 identities"},
      {{"spiffe://basalt.local/cluster/green/role/jobsvc/jobsvc-0"},
       "is of cluster green, this process of cluster blue"}};
  for (const Case& test : cases) {
    const absl::StatusOr<Identity> identity = rules.IdentityOf(test.uris);
    if (identity.ok()) {
      EXPECT_EQ(UriOf(*identity), test.wanted);
    } else {
      EXPECT_THAT(identity, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(test.wanted)));
    }
  }
}

TEST(IdentityRulesTest, AMappingIsAPathAndARole) {
  const absl::StatusOr<IdentityRules::Mapping> mapping = IdentityRules::ParseMapping("ns/a=b/sa/c=operator");
  ASSERT_THAT(mapping, IsOk());
  EXPECT_EQ(mapping->path, "ns/a=b/sa/c");
  EXPECT_EQ(mapping->role, Role::kOperator);
  for (const char* text : {"", "jobsvc", "=jobsvc", "/ns/a=jobsvc", "ns/a=admin", "ns/a="}) {
    EXPECT_THAT(IdentityRules::ParseMapping(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has to be PATH=ROLE")))
        << text;
  }
}

}  // namespace
}  // namespace basalt::identity
