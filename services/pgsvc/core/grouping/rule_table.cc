#include "services/pgsvc/core/grouping/rule_table.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "services/pgsvc/core/grouping/rules/rules.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

namespace {

constexpr std::string_view kOne = "minimum 1";
constexpr std::string_view kRoles = "minimum: minAvailable, else all replicas";
constexpr std::string_view kLaunched = "minimum: minAvailable, else all replicas, without a launcher that comes later";
constexpr std::string_view kRayGroups = "a subgroup for the head and for each worker group";
constexpr std::string_view kCliques = "as the PodGang says";

constexpr Rule kDefault{"*", "*", "*", GroupByDefault, "minimum 1, named after the top owner"};

constexpr Rule kRules[] = {
    {"", "v1", "Pod", GroupPod, "a group for each pod; pods of a Spark application share one"},
    {"apps", "v1", "Deployment", GroupDeployment, "a group for each pod"},
    {"apps", "v1", "ReplicaSet", GroupByDefault, kOne},
    {"apps", "v1", "StatefulSet", GroupStatefulSet,
     "minimum: annotation kai.scheduler/min-member where pods are made at once, else 1"},
    {"batch", "v1", "Job", GroupJob, "minimum: annotation kai.scheduler/batch-min-member, else 1"},
    {"batch", "v1", "CronJob", GroupCronJob, "as the Job"},
    {"run.ai", "v1", "RunaiJob", GroupRunaiJob, kOne},
    {"kubeflow.org", "v1", "TFJob", GroupTfJob, kRoles},
    {"kubeflow.org", "v1", "XGBoostJob", GroupXgBoostJob, kRoles},
    {"kubeflow.org", "v1", "JAXJob", GroupJaxJob, kRoles},
    {"kubeflow.org", "v1", "MPIJob", GroupMpiJob, kLaunched},
    {"kubeflow.org", "v2beta1", "MPIJob", GroupMpiJob, kLaunched},
    {"kubeflow.org", "v1", "PyTorchJob", GroupPyTorchJob, "subgroups for master and workers, or their segments"},
    {"kubeflow.org", "v1beta1", "Notebook", GroupByDefaultAsBuild, kOne},
    {"kubeflow.org", "v1alpha1", "ScheduledWorkflow", GroupByDefault, kOne},
    {"jobset.x-k8s.io", "v1alpha2", "JobSet", GroupJobSet,
     "a subgroup for each replicated job, and below for each replica"},
    {"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", GroupLeaderWorkerSet,
     "a group for each replica, subgroups for leader and workers, or segments"},
    {"ray.io", "v1", "RayCluster", GroupRayCluster, kRayGroups},
    {"ray.io", "v1alpha1", "RayCluster", GroupRayCluster, kRayGroups},
    {"ray.io", "v1", "RayJob", GroupRayJob, kRayGroups},
    {"ray.io", "v1alpha1", "RayJob", GroupRayJob, kRayGroups},
    {"ray.io", "v1", "RayService", GroupRayService, kRayGroups},
    {"ray.io", "v1alpha1", "RayService", GroupRayService, kRayGroups},
    {"serving.knative.dev", "v1", "Service", GroupKnativeService,
     "a group for each revision; minimum: annotation autoscaling.knative.dev/min-scale, else 1"},
    {"grove.io", "v1alpha1", "PodCliqueSet", GroupGrove, kCliques},
    {"grove.io", "v1alpha1", "PodGangSet", GroupGrove, kCliques},
    {"amlarc.azureml.com", "v1alpha1", "AmlJob", GroupAmlJob, "minimum: AZUREML_NODE_COUNT"},
    {"egx.nvidia.io", "v1", "SPOTRequest", GroupByDefaultAsInference, kOne},
    {"machinelearning.seldon.io", "v1", "SeldonDeployment", GroupByDefault, kOne},
    {"machinelearning.seldon.io", "v1alpha2", "SeldonDeployment", GroupByDefault, kOne},
    {"kubevirt.io", "v1", "VirtualMachineInstance", GroupByDefault, kOne},
    {"workspace.devfile.io", "v1alpha2", "DevWorkspace", GroupByDefault, kOne},
    {"tekton.dev", "v1", "PipelineRun", GroupByDefault, kOne},
    {"tekton.dev", "v1", "TaskRun", GroupByDefault, kOne},
};

constexpr LookThrough kLookThrough[] = {
    {"argoproj.io", "v1alpha1", "Workflow"},
    {"run.ai", "*", "TrainingWorkload"},
    {"run.ai", "*", "InteractiveWorkload"},
    {"run.ai", "*", "DistributedWorkload"},
    {"run.ai", "*", "InferenceWorkload"},
    {"run.ai", "*", "DistributedInferenceWorkload"},
    {"run.ai", "*", "WorkloadRunner"},
    {"trainer.kubeflow.org", "v1alpha1", "TrainJob"},
    {"nvidia.com", "*", "DynamoGraphDeployment"},
};

// The order of versions: v1alpha1, v1beta1, v1, v2alpha1. A text that is not a version comes first.
using VersionOrder = std::tuple<int32_t, int32_t, int32_t>;  // The version, its stage, and the number in that stage.

VersionOrder OrderOf(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  int32_t rank = 0;
  for (const std::string_view stage : {"alpha", "beta"}) {
    if (const size_t at = version.find(stage); at != std::string_view::npos) {
      return {ParseInt32(version.substr(0, at)).value_or(-1), rank,
              ParseInt32(version.substr(at + stage.size())).value_or(0)};
    }
    ++rank;
  }
  return {ParseInt32(version).value_or(-1), rank, 0};
}

// Whether `one` suits `version`, which no row was written for, better than `other` does.
bool IsNearer(std::string_view one, std::string_view other, std::string_view version) {
  const bool is_below = OrderOf(one) < OrderOf(version);
  if (is_below != (OrderOf(other) < OrderOf(version))) return is_below;
  return is_below ? OrderOf(other) < OrderOf(one) : OrderOf(one) < OrderOf(other);
}

}  // namespace

std::span<const Rule> AllRules() { return kRules; }
std::span<const LookThrough> AllLookThrough() { return kLookThrough; }

RuleChoice RuleFor(std::string_view group, std::string_view version, std::string_view kind) {
  const Rule* nearest = nullptr;
  for (const Rule& rule : kRules) {
    if (rule.group != group || rule.kind != kind) continue;
    if (rule.version == version) return {.rule = &rule};
    if (nearest == nullptr || IsNearer(rule.version, nearest->version, version)) nearest = &rule;
  }
  if (nearest == nullptr) return {.rule = &kDefault};
  return {.rule = nearest, .is_of_version = false};
}

const LookThrough* LookThroughFor(std::string_view group, std::string_view kind) {
  const auto row = std::find_if(std::begin(kLookThrough), std::end(kLookThrough),
                                [&](const LookThrough& one) { return one.group == group && one.kind == kind; });
  return row == std::end(kLookThrough) ? nullptr : row;
}

}  // namespace basalt::pgsvc
