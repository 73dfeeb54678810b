#include "services/jobsvc/core/render/effective_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/jobsvc/core/plugins/mpi/mpi_plugin.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;
using kube::v1::TaskSpec;

int32_t Clamp(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<int32_t>::max()));
}

// By job spec 14, S7. Returns 0 if the number cannot be computed.
int32_t PartitionsIn(const TaskSpec& task) {
  const int32_t size = task.partition_policy().partition_size();
  return size <= 0 || task.replicas() <= 0 || task.replicas() % size != 0 ? 0 : task.replicas() / size;
}

void DefaultTask(TaskSpec& task, int index) {
  if (task.has_partition_policy() && task.partition_policy().total_partitions() == 0) {
    task.mutable_partition_policy()->set_total_partitions(PartitionsIn(task));
  }
  if (task.name().empty()) task.set_name(fmt::format("default{}", index));
  if (!task.has_min_available()) {
    const kube::v1::PartitionPolicy& partitions = task.partition_policy();
    const bool from_partitions = task.has_partition_policy() && partitions.min_partitions() > 0;
    task.set_min_available(from_partitions ? Clamp(int64_t{partitions.min_partitions()} * partitions.partition_size())
                                           : task.replicas());
  }
  if (task.max_retry() == 0) task.set_max_retry(kDefaultMaxRetry);
}

void AddPlugin(JobSpec& spec, std::string_view name) {
  spec.add_plugins()->set_name(std::string(name));
  std::sort(spec.mutable_plugins()->begin(), spec.mutable_plugins()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
}

void DefaultPlugins(JobSpec& spec) {
  const auto has = [&spec](std::string_view name) { return FindPlugin(spec, name) != nullptr; };
  if ((has("tensorflow") || has("mpi") || has("pytorch") || has("ray")) && !has("svc")) AddPlugin(spec, "svc");
  if (has("mpi") && !has("ssh")) AddPlugin(spec, "ssh");
}

TaskSpec* FindTask(JobSpec& spec, std::string_view name) {
  for (TaskSpec& task : *spec.mutable_tasks()) {
    if (task.name() == name) return &task;
  }
  return nullptr;
}

// Returns whether the task waits for the other one, directly or by tasks between them.
bool WaitsFor(const JobSpec& spec, std::string_view task, std::string_view other) {
  std::map<std::string_view, const TaskSpec*> tasks;
  for (const TaskSpec& each : spec.tasks()) tasks.emplace(each.name(), &each);
  std::set<std::string_view> seen = {task};
  std::vector<std::string_view> left = {task};
  while (!left.empty()) {
    const auto at = tasks.find(left.back());
    left.pop_back();
    if (at == tasks.end()) continue;
    for (const std::string& name : at->second->depends_on().names()) {
      if (name == other) return true;
      if (seen.insert(name).second) left.push_back(name);
    }
  }
  return false;
}

// If a master starts before its workers, mpirun cannot log in to any of them.
void DefaultMpiOrder(JobSpec& spec) {
  const kube::v1::JobPlugin* const wanted = FindPlugin(spec, "mpi");
  if (wanted == nullptr) return;
  MpiPlugin mpi;
  mpi.Read(wanted->arguments());
  TaskSpec* const master = FindTask(spec, mpi.master());
  if (master == nullptr || master->has_depends_on() || mpi.worker() == mpi.master()) return;
  if (FindTask(spec, mpi.worker()) == nullptr || WaitsFor(spec, mpi.worker(), mpi.master())) return;
  master->mutable_depends_on()->add_names(mpi.worker());
}

}  // namespace

int64_t SumOfTaskMinimums(const JobSpec& spec) {
  int64_t sum = 0;
  for (const TaskSpec& task : spec.tasks()) sum += task.has_min_available() ? task.min_available() : task.replicas();
  return sum;
}

int32_t DefaultMinAvailable(const JobSpec& spec) { return Clamp(SumOfTaskMinimums(spec)); }

int64_t SumOfReplicas(const JobSpec& spec) {
  int64_t sum = 0;
  for (const TaskSpec& task : spec.tasks()) sum += task.replicas();
  return sum;
}

int64_t NumberOfPods(const JobSpec& spec) {
  int64_t pods = 0;
  for (const TaskSpec& task : spec.tasks()) pods += std::max(0, task.replicas());
  return pods;
}

const kube::v1::JobPlugin* FindPlugin(const JobSpec& spec, std::string_view name) {
  for (const kube::v1::JobPlugin& plugin : spec.plugins()) {
    if (plugin.name() == name) return &plugin;
  }
  return nullptr;
}

JobSpec EffectiveSpec(const kube::v1::Job& job, const DefaultOptions& options) {
  JobSpec spec = job.spec();
  if (spec.queue().empty()) spec.set_queue(std::string(kube::kDefaultQueue));
  if (spec.scheduler_name().empty()) spec.set_scheduler_name(options.scheduler_name);
  if (spec.max_retry() == 0) spec.set_max_retry(kDefaultMaxRetry);
  for (int i = 0; i < spec.tasks_size(); ++i) DefaultTask(*spec.mutable_tasks(i), i);
  const bool minimum_is_new = job.status().phase() == kube::v1::JOB_PHASE_UNSPECIFIED || job.meta().generation() == 1;
  if (spec.min_available() == 0 && minimum_is_new) spec.set_min_available(DefaultMinAvailable(spec));
  DefaultPlugins(spec);
  DefaultMpiOrder(spec);
  return spec;
}

}  // namespace basalt::jobsvc
