// Measures the cost of a cached pod: bytes at 100 000 pods (goal: at most 1 KiB in the whole gateway) and time for each
// event.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "gateway/route/cache.h"

namespace basalt::gateway {
namespace {

constexpr int kPods = 100'000;

class Ignore : public CacheListener {
 public:
  void OnState(ObjectId) override {}
  void OnDeparture(ObjectId, const Departure&) override {}
  void OnHeldBack(ObjectId) override {}
  void OnWatch(WatchIndex) override {}
};

kube::v1::Object Pod(int i, int64_t resource_version) {
  kube::v1::Object object;
  kube::v1::Pod& pod = *object.mutable_pod();
  pod.set_namespace_(fmt::format("team-{:03}", i % 100));
  pod.set_name(fmt::format("training-run-{:05}-worker-{}", i / 10, i % 10));
  pod.set_uid(fmt::format("{:08x}-1c2d-4e3f-9a8b-{:012x}", i * 2654435761u, i));
  pod.set_resource_version(resource_version);
  pod.set_creation_ms(1'750'000'000'000);
  pod.set_phase(kube::v1::POD_PHASE_RUNNING);
  pod.set_owner_uid(fmt::format("{:08x}-aaaa-4e3f-9a8b-{:012x}", i, i / 10));
  pod.set_owner_kind("Job");
  pod.set_owner_api_version("batch.volcano.sh/v1alpha1");
  pod.set_scheduler_name("volcano");
  pod.set_node_name(fmt::format("node-{:04}.cluster.example", i % 5000));
  pod.set_group_name(fmt::format("training-run-{:05}-2f1a4c1e-7d55-4d36-b7cc-7c42f2f0a111", i / 10));
  pod.set_job_name(fmt::format("training-run-{:05}", i / 10));
  pod.set_task("worker");
  pod.set_job_version(0);
  pod.set_index(i % 10);
  pod.set_job_uid_label(pod.owner_uid());
  return object;
}

int64_t ResidentBytes() {
  long total = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

void BM_BytesPerPod(benchmark::State& state) {
  for (auto _ : state) {
    Ignore ignore;
    const int64_t before = ResidentBytes();
    auto cache = std::make_unique<Cache>(std::vector<std::string>{"pods/job"}, ignore);
    for (int i = 0; i < kPods; ++i) cache->Apply(0, Pod(i, i + 1));
    state.counters["bytes_per_pod"] = static_cast<double>(ResidentBytes() - before) / kPods;
    state.counters["message_bytes"] = static_cast<double>(Pod(1, 1).ByteSizeLong());
  }
}
BENCHMARK(BM_BytesPerPod)->Iterations(1)->Unit(benchmark::kMillisecond);

void BM_Apply(benchmark::State& state) {
  Ignore ignore;
  Cache cache({"pods/job"}, ignore);
  std::vector<kube::v1::Object> pods;
  for (int i = 0; i < kPods; ++i) pods.push_back(Pod(i, i + 1));
  for (const auto& pod : pods) cache.Apply(0, pod);
  int64_t version = kPods;
  size_t next = 0;
  for (auto _ : state) {
    kube::v1::Object& pod = pods[next++ % pods.size()];
    pod.mutable_pod()->set_resource_version(++version);
    cache.Apply(0, pod);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Apply);

}  // namespace
}  // namespace basalt::gateway

BENCHMARK_MAIN();
