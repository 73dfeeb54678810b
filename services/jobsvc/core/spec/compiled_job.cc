#include "services/jobsvc/core/spec/compiled_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/kube/resources/min_resources.h"
#include "services/jobsvc/core/pods/places/job_shape.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/render/volumes.h"
#include "services/jobsvc/core/spec/check_spec.h"

namespace basalt::jobsvc {

namespace {

// Compiles everything that needs the templates. The error names the part that cannot be used.
absl::Status CompileObjects(const kube::v1::Job& job, const PriorityOf& priority_of, CompiledSpec& compiled) {
  auto compiler = PodCompiler::Create(job, compiled.spec);
  if (!compiler.ok()) return compiler.status();
  compiled.objects = WantedObjects(compiler->plugins(), compiler->view());
  for (const auto& plugin : compiler->plugins()) {
    if (plugin->HasMarker()) compiled.plugins.emplace_back(plugin->Name());
  }
  for (JobVolume& volume : VolumesOf(compiler->view(), compiled.spec)) {
    compiled.claims.push_back({std::move(volume.claim), std::move(volume.claim_json)});
  }
  auto resources = kube::MinResources(compiled.spec, priority_of);
  if (!resources.ok()) return resources.status();
  compiled.group = WantedPodGroup(compiled.spec, *resources);
  return absl::OkStatus();
}

// Pods of a refused job that run go by the rest of its spec, in which an impossible number must decide nothing.
void ForgetImpossible(kube::v1::JobSpec& spec) {
  if (spec.max_retry() < 0) spec.set_max_retry(kDefaultMaxRetry);
  if (spec.min_success() < 1) spec.clear_min_success();
  if (spec.ttl_seconds_after_finished() < 0) spec.clear_ttl_seconds_after_finished();
}

}  // namespace

std::vector<TaskShape> ShapeOf(const kube::v1::JobSpec& spec) {
  if (HasTooManyPods(spec)) return {};
  std::vector<TaskShape> shape;
  std::map<std::string_view, int32_t> position_of;
  for (const auto& task : spec.tasks()) {
    const int32_t replicas = std::max(0, task.replicas());
    shape.push_back({.name = task.name(),
                     .replicas = replicas,
                     .partition_size = task.partition_policy().partition_size(),
                     .needed = task.has_min_available() ? task.min_available() : task.replicas()});
    position_of.emplace(task.name(), static_cast<int32_t>(shape.size()) - 1);
  }
  for (size_t task = 0; task < shape.size(); ++task) {
    const auto& depends_on = spec.tasks(static_cast<int>(task)).depends_on();
    for (const std::string& name : depends_on.names()) {
      const auto dependency = position_of.find(name);
      shape[task].depends_on.push_back(dependency == position_of.end() ? -1 : dependency->second);
    }
    shape[task].any = depends_on.names_size() > 1 && depends_on.iteration() == "any";
  }
  return shape;
}

CompiledSpec CompileSpec(const kube::v1::Job& job, const PriorityOf& priority_of, const DefaultOptions& defaults) {
  CompiledSpec compiled;
  compiled.spec = EffectiveSpec(job, defaults);
  // A minAvailable of 0 is legal after an edit; one that was never given keeps the value that it got at the start
  // (2.8). A spec that was corrected after a refusal starts now.
  if (!job.spec().has_min_available() && job.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED &&
      job.meta().generation() > 1) {
    compiled.spec.set_min_available(WasNeverAccepted(job.status()) ? DefaultMinAvailable(compiled.spec)
                                                                   : job.status().min_available());
  }
  SpecCheck check = CheckSpec(job, compiled.spec);
  compiled.refusal = std::move(check.refusal);
  compiled.warning = std::move(check.warning);
  // A refused spec has a shape, too: pods that another controller made, or that we made before an edit, are counted.
  compiled.shape = ShapeOf(compiled.spec);
  if (compiled.invalid()) {
    ForgetImpossible(compiled.spec);
    return compiled;
  }
  if (const absl::Status status = CompileObjects(job, priority_of, compiled); !status.ok()) {
    compiled.refusal = {std::string(kInvalidJob), std::string(ToStd(status.message()))};
    return compiled;
  }
  return compiled;
}

PodMaker::PodMaker(const kube::v1::Job& job, const kube::v1::JobSpec& spec)
    : job_(job), spec_(spec), compiler_(PodCompiler::Create(job_, spec_)), tasks_(spec_.tasks_size()) {}

absl::StatusOr<std::string> PodMaker::Make(int32_t task, int32_t index, const PodContext& context) {
  if (!compiler_.ok()) return compiler_.status();
  if (!tasks_[task]) tasks_[task] = compiler_->Compile(task);
  if (!tasks_[task]->ok()) return tasks_[task]->status();
  return (*tasks_[task])->Build(index, context);
}

std::vector<TaskShape> GrowTo(std::vector<TaskShape> shape, std::string_view job,
                              const std::vector<std::string_view>& pods) {
  std::multimap<std::string, TaskShape*, std::less<>> by_name;  // A refused spec may contain two tasks of one name.
  for (TaskShape& task : shape) by_name.emplace(task.name, &task);
  for (const std::string_view pod : pods) {
    const std::optional<ParsedPodName> name = ParsePodName(pod, job);
    if (!name || name->index >= kMaxPodsPerJob) continue;
    const auto [first, last] = by_name.equal_range(name->task);
    for (auto it = first; it != last; ++it) it->second->replicas = std::max(it->second->replicas, name->index + 1);
  }
  return shape;
}

}  // namespace basalt::jobsvc
