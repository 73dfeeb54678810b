// Each program is killed with SIGKILL at ten random moments while a job runs. The job completes, and neither the log of
// requests nor the history shows a difference.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr int kKills = 10;
constexpr int kPods = 30;

// The job has thirty pods of two to four seconds. The fake kubelet of the real cluster reads the time from the
// annotation.
std::string Manifest(const std::string& name) {
  std::string text = fmt::format(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}}}\n"
      "spec:\n  schedulerName: volcano\n  queue: default\n  minAvailable: 3\n  plugins: {{env: [], svc: []}}\n  "
      "tasks:\n",
      name);
  for (int task = 0; task < 3; ++task) {
    text += fmt::format(
        "  - name: t{0}\n    replicas: {1}\n    minAvailable: 1\n    template:\n"
        "      metadata: {{annotations: {{kubesim.basalt.dev/duration: {2}s}}}}\n      spec:\n        restartPolicy: "
        "Never\n"
        "        containers:\n        - name: main\n          image: busybox\n"
        "          command: [sh, -c, \"sleep {2}\"]\n          resources: {{requests: {{cpu: \"1\"}}}}\n",
        task, kPods / 3, task + 2);
  }
  return text;
}

uint64_t Seed() {
  const char* const given = std::getenv("BASALT_SEED");
  return given == nullptr ? 20260 : std::strtoull(given, nullptr, 10);
}

class KillTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KillTest, TheJobCompletesAsIfNothingHadHappened) {
  const std::string program = GetParam();
  const uint64_t seed = Seed();
  SeededRandom random(seed);
  fmt::print("{}: seed {} (BASALT_SEED)\n", program, seed);
  // jobsvc has several workers, as on machines with many cores.
  WorldOptions options;
  options.service_flags = {{"jobsvc", {"--workers=3"}}};
  World world(options);
  ASSERT_TRUE(world.ok());
  int kills = 0;
  // Jobs follow each other until ten kills have hit a running job.
  for (int run = 0; kills < kKills && run < 6; ++run) {
    const std::string name = fmt::format("victim-of-{}-{}", program, run);
    world.Submit(name, Manifest(name));
    const absl::Time end = absl::Now() + absl::Seconds(120);
    while (world.JobPhase(name) != "Completed" && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(50 + static_cast<int64_t>(random.Uniform(1000))));
      if (kills >= kKills || world.JobPhase(name) == "Completed") continue;
      ++kills;
      ASSERT_THAT(world.suite().Kill(program), testing::IsOk());
      absl::SleepFor(absl::Milliseconds(static_cast<int64_t>(random.Uniform(300))));
      ASSERT_THAT(world.suite().Restart(program), testing::IsOk());
    }
    EXPECT_EQ(world.JobPhase(name), "Completed") << world.Ctl({"job", "get", name}).out;
    const auto made = [&] {
      std::set<std::string> pods;
      for (const Write& write : world.Log()) {
        if (write.resource == "pods" && write.verb == "create" && write.subresource.empty() &&
            (write.Succeeded() || write.IsUncertain()) && write.name.starts_with(name + "-")) {
          pods.insert(write.name);
        }
      }
      return pods.size();
    };
    EXPECT_EQ(made(), static_cast<size_t>(kPods));
    for (const std::string& violation : JudgeJob(world, name)) ADD_FAILURE() << name << ": " << violation;
  }
  fmt::print("{}: {} kills\n", program, kills);
  EXPECT_EQ(kills, kKills);
  EXPECT_THAT(world.suite().Casualties(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, KillTest, ::testing::Values("gateway", "jobsvc", "pgsvc", "queuesvc"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace basalt::e2e
