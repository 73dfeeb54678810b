// Measures how many pods one core makes from a compiled task, and the cost of compiling. Goal: 50 000 pods/s.
#include <benchmark/benchmark.h>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {
namespace {

kube::v1::Job BenchJob() {
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("team-a");
  job.mutable_meta()->set_name("train-resnet");
  job.mutable_meta()->set_uid("5b0c6d0e-6a7c-4a57-9d7e-0e4d1a1f2c3b");
  for (const char* plugin : {"env", "ssh", "svc"}) job.mutable_spec()->add_plugins()->set_name(plugin);
  kube::v1::TaskSpec* task = job.mutable_spec()->add_tasks();
  task->set_name("worker");
  task->set_replicas(10000);
  task->set_template_json(R"({"metadata":{"labels":{"app":"train"}},"spec":{"restartPolicy":"OnFailure",
    "containers":[{"name":"main","image":"registry.example/train:1.2","command":["python","train.py","--epochs","90"],
    "resources":{"requests":{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}},
    "env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}]}})");
  return job;
}

void BM_BuildPod(benchmark::State& state) {
  const kube::v1::Job job = BenchJob();
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  const CompiledTask task = *CompileTask(job, spec, 0);
  const PodContext context{.version = 3, .pod_group_name = "train-resnet-5b0c6d0e-6a7c-4a57-9d7e-0e4d1a1f2c3b"};
  int32_t index = 0;
  size_t bytes = 0;
  for (auto _ : state) {
    const std::string pod = BuildPod(task, index++ % 10000, context);
    bytes += pod.size();
    benchmark::DoNotOptimize(pod.data());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_BuildPod);

void BM_CompileTask(benchmark::State& state) {
  const kube::v1::Job job = BenchJob();
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  for (auto _ : state) benchmark::DoNotOptimize(CompileTask(job, spec, 0));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_CompileTask);

}  // namespace
}  // namespace basalt::jobsvc

BENCHMARK_MAIN();
