#include "common/kube/resources/min_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kube {
namespace {

struct Ranked {
  const TaskDemand* task;
  int32_t priority;
};

std::vector<Ranked> ByPriority(const std::vector<TaskDemand>& tasks, const PriorityLookup& priority_of) {
  std::vector<Ranked> ranked;
  ranked.reserve(tasks.size());
  for (const TaskDemand& task : tasks) {
    ranked.push_back({&task, task.priority_class.empty() ? 0 : priority_of(task.priority_class)});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.priority > b.priority; });
  return ranked;
}

class Taker {
 public:
  explicit Taker(int64_t wanted) : remaining_(wanted) {}
  void Take(const TaskDemand& task, int64_t pods) {
    const int64_t taken = std::clamp<int64_t>(pods, 0, std::max<int64_t>(remaining_, 0));
    if (taken == 0) return;
    remaining_ -= taken;
    AddTo(sum_, task.per_pod, taken);
  }
  ResourceMap Sum() && { return std::move(sum_); }

 private:
  int64_t remaining_;
  ResourceMap sum_;
};

}  // namespace

absl::StatusOr<std::vector<TaskDemand>> TaskDemands(const v1::JobSpec& spec) {
  std::vector<TaskDemand> demands;
  demands.reserve(spec.tasks_size());
  for (const v1::TaskSpec& task : spec.tasks()) {
    const std::string where = fmt::format("spec.tasks[{}].template", demands.size());
    absl::StatusOr<json::value> pod_template = ParseJson(task.template_json());
    if (!pod_template.ok()) return Annotate(pod_template.status(), where);
    TaskDemand demand;
    demand.replicas = task.replicas();
    if (task.has_min_available()) demand.min_available = task.min_available();
    const json::value no_spec;
    const json::value* found = Find(*pod_template, "spec");
    const json::value& pod_spec = found == nullptr ? no_spec : *found;
    demand.priority_class = std::string(FindString(pod_spec, "priorityClassName"));
    absl::StatusOr<ResourceMap> usage = PodQuotaUsage(pod_spec, RequestDefaults::kLimitsAsRequests);
    if (!usage.ok()) return Annotate(usage.status(), where);
    demand.per_pod = *std::move(usage);
    demands.push_back(std::move(demand));
  }
  return demands;
}

ResourceMap MinResources(const std::vector<TaskDemand>& tasks, int64_t min_available,
                         const PriorityLookup& priority_of) {
  int64_t minimums = 0;
  for (const TaskDemand& task : tasks) minimums += task.min_available.value_or(task.replicas);
  const std::vector<Ranked> ranked = ByPriority(tasks, priority_of);
  Taker taker(min_available);
  if (min_available < minimums) {
    for (const Ranked& rank : ranked) taker.Take(*rank.task, rank.task->replicas);
    return std::move(taker).Sum();
  }
  for (const Ranked& rank : ranked) taker.Take(*rank.task, rank.task->min_available.value_or(0));
  for (const Ranked& rank : ranked) {
    taker.Take(*rank.task, rank.task->replicas - rank.task->min_available.value_or(0));
  }
  return std::move(taker).Sum();
}

void SetMinResources(const ResourceMap& resources, v1::PodGroupSpec& spec) {
  spec.set_has_min_resources(true);
  spec.clear_min_resources();
  for (const auto& [name, value] : resources) {
    v1::KeyValue* entry = spec.add_min_resources();
    entry->set_key(name);
    entry->set_value(value.Text());
  }
}

absl::StatusOr<ResourceMap> MinResources(const v1::JobSpec& spec, const PriorityLookup& priority_of) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<TaskDemand> tasks, TaskDemands(spec));
  return MinResources(tasks, spec.min_available(), priority_of);
}

}  // namespace basalt::kube
