#include "tests/simulation/evictions.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"

namespace basalt::simulation {
namespace {

// These streams are chosen so that the seeds that once violated an invariant have neither evictions nor wrong clocks.
// Those seeds therefore remain the same runs.
constexpr uint64_t kStream = 0x5b60'a21c'42f7'8aa5;
constexpr uint64_t kClockStream = 0xefbb'90ab'5488'7a0b;

SeededRandom StreamOf(uint64_t seed) { return SeededRandom(seed ^ kStream); }

bool IsEvicted(const PlannedJob& job) {
  return job.kind == JobKind::kOnEviction || job.kind == JobKind::kOnEvictionLater;
}

std::string PathOf(const std::string& pod) { return fmt::format("/api/v1/namespaces/default/pods/{}", pod); }

}  // namespace

Evictions::Evictions(uint64_t seed, SimSuite& suite, const std::vector<PlannedJob>& jobs, Probes& probes)
    : random_(StreamOf(seed)), suite_(suite), jobs_(jobs), probes_(probes) {
  random_.Next();  // AreIn() uses the first number of the stream.
}

bool Evictions::AreIn(uint64_t seed) { return StreamOf(seed).OneIn(3); }

std::map<std::string, absl::Duration> Evictions::ClocksIn(uint64_t seed) {
  SeededRandom random(seed ^ kClockStream);
  if (!random.OneIn(3)) return {};
  std::map<std::string, absl::Duration> ahead;
  for (const char* node : {"node-0", "node-1"}) {
    const absl::Duration by = absl::Hours(1) + absl::Seconds(random.Uniform(7200));
    ahead[node] = random.OneIn(3) ? by : -by;
  }
  return ahead;
}

void Evictions::Expect(uint64_t seed, PlannedJob& job) {
  if (!AreIn(seed) || !IsEvicted(job)) return;
  // All other pods may have finished before the policy's deadline.
  if (job.kind == JobKind::kOnEvictionLater) job.ends.emplace_back("Failed");
  // If a node's clock is slow, the times in the status of a deleted pod claim that the pod failed before the deletion,
  // although no process observed the failure. Such a pod may count as failed.
  if (job.kind != JobKind::kOnEviction || !ClocksIn(seed).empty()) return;
  job.policies.push_back({.event = "PodFailed", .action = "AbortJob"});
  job.manifest = JobManifest(job);
}

void Evictions::Begin() {
  for (const PlannedJob& job : jobs_) {
    if (!IsEvicted(job)) continue;
    for (uint64_t times = 1 + random_.Uniform(4); times > 0; --times) {
      After(absl::Seconds(2), absl::Seconds(45), [this, &job] { Evict(job); });
    }
  }
}

void Evictions::Evict(const PlannedJob& job) {
  if (suite_.JobOf(job.name, job.uid) == nullptr) return;
  const std::string pod = job.pods[random_.Uniform(job.pods.size())];
  const bool is_preempted = random_.OneIn(2);
  const bool ends_first = !is_preempted || random_.OneIn(2);
  const bool is_removed = is_preempted || random_.OneIn(2);
  if (is_preempted) {
    probes_.Hit("pod preempted");
    suite_.DisruptPod(pod, "PreemptionByScheduler");
  } else {
    probes_.Hit("pod evicted by its kubelet");
  }
  // Another job may have the name by then.
  const auto later = [this, &job](absl::Duration most, std::function<void()> then) {
    After(absl::ZeroDuration(), most, [this, &job, then = std::move(then)] {
      if (suite_.JobOf(job.name, job.uid) != nullptr) then();
    });
  };
  if (ends_first) later(absl::Seconds(is_preempted ? 2 : 0), [this, pod] { suite_.EvictPod(pod); });
  if (is_removed) later(absl::Seconds(is_preempted ? 3 : 10), [this, pod] { suite_.DeleteObject(PathOf(pod)); });
}

void Evictions::After(absl::Duration least, absl::Duration most, std::function<void()> then) {
  suite_.time().RunAfter(least + (most - least) * random_.Unit(), std::move(then));
}

}  // namespace basalt::simulation
