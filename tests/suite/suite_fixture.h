#pragma once

// A fixture with the whole suite under simulated time: one gateway, and one replica of each service.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/e2e/writer.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// Returns a job with one task "t". `more` has further members of the spec and begins with a comma.
inline std::string OneTaskJob(std::string_view name, int replicas, std::string_view script, std::string_view more = "",
                              std::string_view ns = "default") {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"{}"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default"{},"tasks":[{{"name":"t","replicas":{},)"
      R"("template":{{"spec":{{"restartPolicy":"Never","containers":[)"
      R"({{"name":"c","image":"busybox","command":["sh","-c","{}"]}}]}}}}}}]}}}})",
      name, ns, more, replicas, script);
}

class SuiteTest : public ::testing::Test {
 protected:
  explicit SuiteTest(uint64_t seed) : suite_({.seed = seed}) {
    suite_.StartAll();
    suite_.time().Advance(absl::Seconds(5));
    suite_.api().ClearLog();
  }
  bool Reaches(std::string_view job, std::string_view phase, absl::Duration limit = absl::Minutes(2),
               std::string_view ns = "default") {
    return suite_.time().AdvanceUntil([&] { return suite_.JobPhase(ns, job) == phase; }, limit);
  }
  std::string UidOf(std::string_view resource, std::string_view name) {
    const auto object = suite_.api().Get(resource, "default", name);
    return object == nullptr ? "" : std::string(FindString(*Find(*object, "metadata"), "uid"));
  }
  // Returns the number of the suite's writes, without those of Events. Only writes of queues count those of queues.
  // With `accepted` refused writes do not count.
  int Writes(std::string_view verb = "", std::string_view resource = "", bool accepted = false) {
    int writes = 0;
    for (const kubesim::LoggedRequest& request : suite_.api().log()) {
      if (!e2e::IsByOwner(request.user_agent) || request.resource == "events") continue;
      if (accepted && request.status >= 300) continue;
      if (resource.empty() ? request.resource == "queues" : request.resource != resource) continue;
      writes += verb.empty() || request.verb == verb ? 1 : 0;
    }
    return writes;
  }

  SimSuite suite_;
};

}  // namespace basalt::simulation
