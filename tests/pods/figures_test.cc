// Measures the costs of an installed suite by kubelet's own figures: at rest, and with 200 jobs of ten pods each, which
// a fake kubelet runs. Prints a table. The sizes in deploy/README.md follow from this table.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/time/clock.h"
#include "tests/pods/installed.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;

constexpr int kJobs = 200;
constexpr int kPods = 10;
constexpr absl::Duration kLimit = absl::Minutes(5);

struct Usage {
  double cpu_seconds = 0;  // Seconds since the container began.
  double memory_mib = 0;   // The working set, which counts towards a memory limit.
};

class FiguresTest : public InstalledTest {
 protected:
  // Returns the usage by pod. Kubelet's figures are about ten seconds old.
  std::map<std::string, Usage> Usages() {
    std::map<std::string, Usage> usages;
    const auto summary = ParseJson(suite_->Kubectl({"get", "--raw", "/api/v1/nodes/real-0/proxy/stats/summary"}));
    if (!summary.ok()) return usages;
    for (const json::value& pod : summary->at("pods").as_array()) {
      const json::value* const name = FindPath(pod, {"podRef", "name"});
      const json::value* const containers = Find(pod, "containers");
      if (containers == nullptr || containers->as_array().empty()) continue;
      const json::value& container = containers->as_array()[0];
      Usage& usage = usages[std::string(name->as_string())];
      if (const json::value* cpu = Find(container, "cpu")) {
        usage.cpu_seconds = static_cast<double>(FindInt(*cpu, "usageCoreNanoSeconds")) / 1e9;
      }
      if (const json::value* memory = Find(container, "memory")) {
        usage.memory_mib = static_cast<double>(FindInt(*memory, "workingSetBytes")) / (1 << 20);
      }
    }
    return usages;
  }
  // Raises peak_ to the present memory of each pod.
  void Watch() {
    for (const auto& [pod, usage] : Usages()) peak_[pod] = std::max(peak_[pod], usage.memory_mib);
  }
  // The most memory that Watch() has found, in MiB, by pod.
  std::map<std::string, double> peak_;
};

TEST_F(FiguresTest, AtRestAndUnderLoad) {
  constexpr absl::Duration kRest = absl::Seconds(60);
  EXPECT_FALSE(Eventually(absl::Seconds(20), [] { return false; })) << "the installation comes to rest";
  const std::map<std::string, Usage> begin = Usages();
  const absl::Time begun = absl::Now();
  EXPECT_FALSE(Eventually(kRest, [] { return false; }));
  const std::map<std::string, Usage> rest = Usages();
  const double rested = absl::ToDoubleSeconds(absl::Now() - begun);

  std::string manifest;
  for (int i = 0; i < kJobs; ++i) {
    manifest +=
        JobManifest(fmt::format("load-{}", i), fmt::format("minAvailable: {}", kPods), {FakeTask("t", kPods, 5)});
  }
  const absl::Time loaded = absl::Now();
  suite_->Apply(manifest);
  const auto completed = [&] {
    Watch();
    const std::string phases = suite_->Kubectl(
        {"get", "jobs.batch.volcano.sh", "-o", "jsonpath={range .items[*]}{.status.state.phase} {end}"});
    int count = 0;
    for (size_t at = phases.find("Completed"); at != std::string::npos; at = phases.find("Completed", at + 1)) ++count;
    return count == kJobs;
  };
  EXPECT_TRUE(Eventually(kLimit, completed));
  const double took = absl::ToDoubleSeconds(absl::Now() - loaded);
  EXPECT_FALSE(Eventually(absl::Seconds(20), [&] { return Watch(), false; }));
  const std::map<std::string, Usage> end = Usages();

  fmt::print("{} jobs of {} pods in {:.0f} s\n{:<40} {:>10} {:>9} {:>10} {:>9}\n", kJobs, kPods, took, "pod",
             "rest, mCPU", "rest, MiB", "load, ms/pod", "peak, MiB");
  double memory = 0, per_pod = 0, at_rest = 0;
  for (const auto& [pod, usage] : end) {
    if (!pod.starts_with("basalt-") || !rest.contains(pod)) continue;
    const double idle = (rest.at(pod).cpu_seconds - begin.at(pod).cpu_seconds) / rested * 1000;
    const double load = (usage.cpu_seconds - rest.at(pod).cpu_seconds) * 1000 / (kJobs * kPods);
    fmt::print("{:<40} {:>10.1f} {:>9.1f} {:>10.3f} {:>9.1f}\n", pod, idle, rest.at(pod).memory_mib, load, peak_[pod]);
    at_rest += idle;
    per_pod += load;
    memory += peak_[pod];
    EXPECT_LT(peak_[pod], 256) << "the least limit of memory that a manifest has";
  }
  fmt::print("{:<40} {:>10.1f} {:>9} {:>10.3f} {:>9.1f}\n", "all", at_rest, "", per_pod, memory);
  for (const char* const pod : {"basalt-jobsvc-0", "basalt-pgsvc-0", "basalt-queuesvc-0"}) {
    const absl::Time scraped = absl::Now();
    const std::string metrics = suite_->Page(pod, "/metrics");
    EXPECT_FALSE(metrics.empty());
    fmt::print("/metrics of {}: {} bytes, {} through kubectl and the API server\n", pod, metrics.size(),
               absl::FormatDuration(absl::Trunc(absl::Now() - scraped, absl::Milliseconds(1))));
  }
}

TEST_F(FiguresTest, MemoryByPodsThatRun) {
  constexpr int kStanding = 100, kLarge = 100;  // All nodes together can run 12 000 pods.
  suite_->Kubectl({"delete", "jobs.batch.volcano.sh", "--all"}, kLimit);
  EXPECT_FALSE(Eventually(absl::Seconds(20), [] { return false; }));
  const std::map<std::string, Usage> before = Usages();
  std::string manifest;
  for (int i = 0; i < kStanding; ++i) {
    manifest += JobManifest(fmt::format("standing-{}", i), fmt::format("minAvailable: {}", kLarge),
                            {FakeTask("t", kLarge, 3600)});
  }
  suite_->Apply(manifest);
  EXPECT_TRUE(Eventually(3 * kLimit, [&] {
    const std::string running =
        suite_->Kubectl({"get", "jobs.batch.volcano.sh", "-o", "jsonpath={range .items[*]}{.status.running} {end}"});
    int count = 0;
    for (size_t at = running.find("100 "); at != std::string::npos; at = running.find("100 ", at + 1)) ++count;
    return count == kStanding;
  }));
  EXPECT_FALSE(Eventually(absl::Seconds(20), [] { return false; }));
  fmt::print("{} pods that run\n{:<40} {:>11} {:>11} {:>11}\n", kStanding * kLarge, "pod", "before, MiB", "with, MiB",
             "kB each");
  for (const auto& [pod, usage] : Usages()) {
    if (!pod.starts_with("basalt-") || !before.contains(pod)) continue;
    const double more = usage.memory_mib - before.at(pod).memory_mib;
    fmt::print("{:<40} {:>11.1f} {:>11.1f} {:>11.2f}\n", pod, before.at(pod).memory_mib, usage.memory_mib,
               more * 1024 / (kStanding * kLarge));
  }
}

}  // namespace
}  // namespace basalt::pods
