// Tests, over the whole suite, simulated, that a refusal of the API server in one part of the cluster does not affect
// the other parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {
namespace {

std::string Job(std::string_view ns, std::string_view name) {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"{}"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default","tasks":[{{"name":"t","replicas":2,)"
      R"("template":{{"spec":{{"restartPolicy":"Never","containers":[)"
      R"({{"name":"c","image":"busybox","command":["sh","-c","sleep 1"]}}]}}}}}}]}}}})",
      name, ns);
}

class RefusalsTest : public ::testing::Test {
 protected:
  RefusalsTest() : suite_({.seed = 9}) {
    for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) suite_.Start(program);
    suite_.CreateObject(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"hooked"}})");
    suite_.time().Advance(absl::Seconds(5));
  }
  bool Reaches(std::string_view ns, std::string_view name, std::string_view phase, absl::Duration limit) {
    return suite_.time().AdvanceUntil([&] { return suite_.JobPhase(ns, name) == phase; }, limit);
  }

  SimSuite suite_;
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
    suite_.CreateObject(Job("hooked", hooked));
    suite_.api().faults().Add(rule);
    for (int i = 0; i < 3; ++i) {
      const std::string name = fmt::format("free-{}-{}", code, i);
      suite_.CreateObject(Job("default", name));
      EXPECT_TRUE(Reaches("default", name, "Completed", absl::Seconds(10)))
          << code << ": " << suite_.JobPhase("default", name);
    }
    EXPECT_NE(suite_.JobPhase("hooked", hooked), "Completed");
    suite_.api().faults().Clear();
    EXPECT_TRUE(Reaches("hooked", hooked, "Completed", absl::Minutes(2))) << suite_.JobPhase("hooked", hooked);
  }
}

}  // namespace
}  // namespace basalt::simulation
