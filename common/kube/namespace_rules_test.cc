#include "common/kube/namespace_rules.h"

#include <gtest/gtest.h>

namespace basalt::kube {
namespace {

TEST(NamespaceRulesTest, SystemNamespacesAreServedOnlyWhereTheyAreNamed) {
  const struct {
    std::vector<std::string> served;
    std::string own, ns, why;
  } rows[] = {
      {{}, "", "default", ""},
      {{}, "", "kube-system", "namespace 'kube-system' is served only where --namespaces names it"},
      {{}, "basalt-system", "basalt-system", "namespace 'basalt-system' is served only where --namespaces names it"},
      {{}, "", "basalt-system", ""},
      {{"*"}, "", "kube-system", "namespace 'kube-system' is served only where --namespaces names it"},
      {{"*", "kube-system"}, "", "kube-system", ""},
      {{"*", "kube-system"}, "", "team", ""},
      {{"*", "kube-system"}, "own", "own", "namespace 'own' is served only where --namespaces names it"},
      {{"team", "own"}, "own", "own", ""},
      {{"team"}, "", "team", ""},
      {{"team", "lab"}, "", "prod", "namespace 'prod' is none of --namespaces (team, lab)"},
      {{"team"}, "", "kube-system", "namespace 'kube-system' is served only where --namespaces names it"},
      {{""}, "", "prod", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(NamespaceRules(row.served, row.own).WhyNot(row.ns), row.why) << row.ns;
  }
  EXPECT_NE(NamespaceRules().WhyNot("kube-system"), "");
  EXPECT_EQ(NamespaceRules().WhyNot("default"), "");
}

}  // namespace
}  // namespace basalt::kube
