#pragma once

// A world of the test's own on the real cluster that all tests of a process share. The fixture has the whole suite and
// kubectl, and reads jobs, pods and the suite's writes from outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/status_matchers.h"
#include "tests/realkube/running.h"

namespace basalt::realkube {

inline constexpr absl::Duration kLimit = absl::Minutes(1);
inline constexpr char kJobs[] = "jobs.batch.volcano.sh";

inline std::string Task(const std::string& replicas, const std::string& duration = "1s") {
  return fmt::format(
      R"({{"name":"t","replicas":{},"template":{{"metadata":{{"annotations":{{"kubesim.basalt.dev/duration":"{}"}}}},)"
      R"("spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i"}}]}}}}}})",
      replicas, duration);
}

inline std::string Spec(const std::string& tasks, const std::string& fields = R"("minAvailable":1)") {
  return fmt::format(R"({{"schedulerName":"volcano","queue":"default",{},"tasks":{}}})", fields, tasks);
}

inline std::string GoodSpec(const std::string& duration = "1s") {
  return Spec(fmt::format("[{}]", Task("2", duration)));
}

class SuiteTest : public ::testing::Test {
 protected:
  void Start(e2e::WorldOptions options = {}) {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    options.gateway_flags.emplace_back("--slow_retry=2s");
    world_ = std::make_unique<e2e::World>(options);
    ASSERT_TRUE(world_->ok());
  }
  static Cluster& cluster() { return *e2e::RealCluster(); }
  std::string Kubectl(const std::vector<std::string>& words) {
    const absl::StatusOr<std::string> text = cluster().Kubectl(words);
    EXPECT_THAT(text, basalt::testing::IsOk());
    return text.value_or("");
  }
  absl::Status Create(const std::string& job, const std::string& spec) {
    e2e::WriteFile(dir_ / "job.json",
                   fmt::format(R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}"}},)"
                               R"("spec":{}}})",
                               job, spec));
    return cluster().Kubectl({"create", "--validate=false", "-f", dir_ / "job.json"}).status();
  }
  void Replace(const std::string& job, const std::string& path, const std::string& value) {
    Kubectl({"patch", kJobs, job, "--type", "json", "-p",
             fmt::format(R"([{{"op":"replace","path":"{}","value":{}}}])", path, value)});
  }
  // Returns the reason and the message in the job's state.
  std::string WordsOf(const std::string& job) {
    return cluster()
        .Kubectl({"get", kJobs, job, "-o", "jsonpath={.status.state.reason}: {.status.state.message}"})
        .value_or("");
  }
  bool Says(const std::string& job, const std::string& words) {
    return e2e::Eventually(kLimit, [&] { return WordsOf(job).find(words) != std::string::npos; });
  }
  bool Becomes(const std::string& job, const std::string& phase) {
    return e2e::Eventually(kLimit, [&] { return world_->JobPhase(job) == phase; });
  }
  std::string EventsOf(const std::string& job) {
    return Kubectl({"get", "events", "--field-selector", "involvedObject.kind=Job,involvedObject.name=" + job, "-o",
                    R"(jsonpath={range .items[*]}{.type} {.reason} {.message}{"\n"}{end})"});
  }
  std::string PodPhases(const std::string& job) {
    return Kubectl({"get", "pods", "-l", "volcano.sh/job-name=" + job, "-o", "jsonpath={.items[*].status.phase}"});
  }
  // Counts the suite's writes with this verb that changed pods of the job.
  int CountPods(const std::string& job, std::string_view verb) {
    int count = 0;
    for (const e2e::Write& write : world_->Log()) {
      if (write.IsOurs() && write.Succeeded() && write.resource == "pods" && write.subresource.empty() &&
          write.verb == verb && write.name.starts_with(job + "-")) {
        ++count;
      }
    }
    return count;
  }
  TargetView Target(std::string_view name) const { return TargetOf(world_->suite().pages("gateway"), name); }
  std::string Metrics() const { return e2e::FetchText(world_->suite().pages("gateway"), "/metrics"); }

  basalt::testing::TempDir dir_;
  std::unique_ptr<e2e::World> world_;
};

}  // namespace basalt::realkube
