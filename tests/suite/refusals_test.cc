// Tests, over the whole suite, simulated, that a refusal of the API server in one part of the cluster does not affect
// the other parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

class RefusalsTest : public SuiteTest {
 protected:
  RefusalsTest() : SuiteTest(9) {
    suite_.CreateObject(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"hooked"}})");
  }
};

TEST_F(RefusalsTest, AWebhookOfOneNamespaceLeavesTheOthersAlone) {
  for (const int code : {429, 503}) {
    kubesim::FaultRule rule;
    rule.verb = "*";
    rule.ns = "hooked";
    rule.code = code;
    rule.retry_after_seconds = 86400;
    rule.admission = true;
    const std::string hooked = fmt::format("hooked-{}", code);
    suite_.CreateObject(OneTaskJob(hooked, 2, "sleep 1", "", "hooked"));
    suite_.api().faults().Add(rule);
    for (int i = 0; i < 3; ++i) {
      const std::string name = fmt::format("free-{}-{}", code, i);
      suite_.CreateObject(OneTaskJob(name, 2, "sleep 1"));
      EXPECT_TRUE(Reaches(name, "Completed", absl::Seconds(10))) << code << ": " << suite_.JobPhase("default", name);
    }
    EXPECT_NE(suite_.JobPhase("hooked", hooked), "Completed");
    suite_.api().faults().Clear();
    EXPECT_TRUE(Reaches(hooked, "Completed", absl::Minutes(2), "hooked")) << suite_.JobPhase("hooked", hooked);
  }
}

}  // namespace
}  // namespace basalt::simulation
