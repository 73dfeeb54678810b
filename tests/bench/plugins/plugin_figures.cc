#include "tests/bench/plugins/plugin_figures.h"

#include <fmt/format.h>

#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::bench {
namespace {

constexpr double kMostMicroseconds = 20;

// Returns the arguments with which a plugin works on the tasks "master" and "worker", whose container is "main".
std::vector<std::string> ArgumentsOf(std::string_view plugin) {
  if (plugin == "tensorflow") return {"--chief=master"};
  if (plugin == "pytorch") return {"--wait-master-enabled=true"};
  if (plugin == "ray") return {"--head=master", "--headContainer=main", "--workerContainer=main"};
  return {};
}

// Returns a job with the plugin, or without any if the name is empty.
kube::v1::Job JobWith(std::string_view plugin, int workers) {
  constexpr std::string_view kTemplate =
      R"({"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"example/train:1","command":["train"],)"
      R"("env":[{"name":"A","value":"1"}],"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}})";
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("default");
  job.mutable_meta()->set_name("train");
  job.mutable_meta()->set_uid("0a21d6ba-57f8-4a0a-b4ee-5c4c8a0a2e2c");
  for (const auto& [name, replicas] : {std::pair("master", 1), std::pair("worker", workers)}) {
    kube::v1::TaskSpec* const task = job.mutable_spec()->add_tasks();
    task->set_name(name);
    task->set_replicas(replicas);
    task->set_template_json(std::string(kTemplate));
  }
  if (!plugin.empty()) {
    kube::v1::JobPlugin* const wanted = job.mutable_spec()->add_plugins();
    wanted->set_name(plugin.data(), plugin.size());
    for (const std::string& argument : ArgumentsOf(plugin)) wanted->add_arguments(argument);
  }
  *job.mutable_spec() = jobsvc::EffectiveSpec(job);
  return job;
}

// Makes all pods of the job from its spec, as jobsvc does, and returns their size in bytes.
absl::StatusOr<size_t> MakePods(const kube::v1::Job& job) {
  BASALT_ASSIGN_OR_RETURN(const jobsvc::PodCompiler compiler, jobsvc::PodCompiler::Create(job, job.spec()));
  size_t bytes = 0;
  for (int task = 0; task < job.spec().tasks_size(); ++task) {
    BASALT_ASSIGN_OR_RETURN(const jobsvc::CompiledTask compiled, compiler.Compile(task));
    for (int32_t index = 0; index < job.spec().tasks(task).replicas(); ++index) {
      bytes += compiled.Build(index, {.pod_group_name = "train-0a21d6ba"}).size();
    }
  }
  return bytes;
}

double CpuMicroseconds() { return static_cast<double>(std::clock()) * 1e6 / CLOCKS_PER_SEC; }

absl::StatusOr<Figure> MeasureOne(std::string_view plugin, const PluginBenchOptions& options) {
  const kube::v1::Job job = JobWith(plugin, options.workers);
  const double pods = 1.0 + options.workers;
  Figure figure{.name = plugin.empty() ? "a pod without plugins" : fmt::format("a pod with {}", plugin), .unit = "us"};
  size_t bytes = 0;
  for (int lap = 0; lap < options.laps; ++lap) {
    const double begin = CpuMicroseconds();
    for (int round = 0; round < options.rounds; ++round) {
      BASALT_ASSIGN_OR_RETURN(bytes, MakePods(job));
    }
    figure.runs.push_back((CpuMicroseconds() - begin) / (options.rounds * pods));
  }
  figure.value = Median(figure.runs);
  std::string others;
  for (const auto& brought : job.spec().plugins()) {
    if (brought.name() != plugin) others += fmt::format("{}{}", others.empty() ? "" : ", ", brought.name());
  }
  figure.notes.push_back(fmt::format("{} bytes{}", Number(static_cast<double>(bytes) / pods),
                                     others.empty() ? "" : fmt::format("; brings {}", others)));
  if (!plugin.empty()) {
    SetMost(kMostMicroseconds, figure);
  }
  return figure;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasurePlugins(const PluginBenchOptions& options, const Progress& progress) {
  std::vector<std::string_view> names = jobsvc::KnownPlugins();
  names.insert(names.begin(), std::string_view());
  std::vector<Figure> figures;
  for (const std::string_view name : names) {
    progress(fmt::format("{} jobs of {} pods {}", options.rounds * options.laps, options.workers + 1,
                         name.empty() ? "without plugins" : fmt::format("with {}", name)));
    BASALT_ASSIGN_OR_RETURN(Figure figure, MeasureOne(name, options));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace basalt::bench
