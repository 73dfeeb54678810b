#include "common/kube/name_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::kube {
namespace {

const std::string k63(63, 'a');
const std::string k64(64, 'a');

TEST(NameRulesTest, DnsLabel) {
  for (const std::string& good : {std::string("a"), std::string("0"), std::string("a-0"), k63}) {
    EXPECT_TRUE(IsDnsLabel(good)) << good;
  }
  for (const std::string& bad : {std::string(""), std::string("-a"), std::string("a-"), std::string("A"),
                                 std::string("a.b"), std::string("a_b"), std::string("a\n"), k64}) {
    EXPECT_FALSE(IsDnsLabel(bad)) << bad;
  }
}

TEST(NameRulesTest, DnsSubdomain) {
  for (const std::string& good : {std::string("a"), std::string("a.b-c.0"), k64, std::string(253, 'a')}) {
    EXPECT_TRUE(IsDnsSubdomain(good)) << good;
  }
  for (const std::string& bad : {std::string(""), std::string("."), std::string("a..b"), std::string("a."),
                                 std::string(".a"), std::string("a.-b"), std::string("A.b"), std::string(254, 'a')}) {
    EXPECT_FALSE(IsDnsSubdomain(bad)) << bad;
  }
}

TEST(NameRulesTest, QualifiedNames) {
  EXPECT_TRUE(IsQualifiedPart("A.b_c-0"));
  EXPECT_TRUE(IsQualifiedPart(k63));
  EXPECT_FALSE(IsQualifiedPart(k64));
  EXPECT_FALSE(IsQualifiedPart("_a"));
  EXPECT_FALSE(IsQualifiedPart(""));
  EXPECT_TRUE(IsQualifiedKey("requests.nvidia.com/gpu"));
  EXPECT_TRUE(IsQualifiedKey("plain"));
  EXPECT_FALSE(IsQualifiedKey("/a"));
  EXPECT_FALSE(IsQualifiedKey("a/"));
  EXPECT_FALSE(IsQualifiedKey("a/b/c"));
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_FALSE(IsLabelValue("a\nb"));
}

TEST(NameRulesTest, EnvNames) {
  EXPECT_TRUE(IsEnvName("my.VAR-1"));
  EXPECT_FALSE(IsEnvName(""));
  EXPECT_FALSE(IsEnvName("a=b"));
  EXPECT_FALSE(IsEnvName("a\tb"));
}

}  // namespace
}  // namespace basalt::kube
