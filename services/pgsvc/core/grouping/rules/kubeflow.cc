// Training jobs of Kubeflow (pod-grouper 6.3 to 6.5).
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rules/rules.h"
#include "services/pgsvc/core/grouping/rules/segments.h"

namespace basalt::pgsvc {

namespace {

// This label of a pod names its MPIJob, by which the pod of the launcher is found.
constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
// This label of a pod of an MPIJob is "launcher" on the pod of the launcher.
constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";
// This label of a pod of a PyTorchJob has the pod's role, which is its subgroup.
constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
// This label of a pod of a PyTorchJob has the index of the pod in its role, which decides its segment.
constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";
constexpr std::string_view kMinAvailable = "spec.runPolicy.schedulingPolicy.minAvailable";

// Returns how many pods the role has. Missing replicas count as 1, the API's default (G13).
absl::StatusOr<int32_t> ReplicasOf(ObjectView job, std::string_view specs, std::string_view role) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> replicas, job.IntAt({"spec", specs, role, "replicas"}));
  if (replicas && *replicas < 0) {
    return Invalid(fmt::format("{}: spec.{}.{}.replicas: must not be negative", job.Described(), specs, role));
  }
  return replicas.value_or(1);
}

absl::StatusOr<std::optional<int32_t>> MinAvailableOf(ObjectView job) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> minimum,
                          job.IntAt({"spec", "runPolicy", "schedulingPolicy", "minAvailable"}));
  if (minimum && *minimum < 0) {
    return Invalid(fmt::format("{}: {}: must not be negative", job.Described(), kMinAvailable));
  }
  return minimum;
}

// Returns how many pods there can be; nullopt if the roles do not state it, which they need not beside a given minimum.
std::optional<int64_t> MostPodsOf(ObjectView job, std::string_view specs) {
  const json::value* const roles = job.At({"spec", specs});
  if (roles == nullptr || !roles->is_object() || roles->get_object().empty()) return std::nullopt;
  int64_t most = 0;
  for (const auto& [role, spec] : roles->get_object()) {
    if (spec.is_null()) continue;
    const absl::StatusOr<int32_t> replicas = ReplicasOf(job, specs, role);
    if (!spec.is_object() || !replicas.ok()) return std::nullopt;
    most += *replicas;
  }
  return most;
}

// Returns the minimum from that field, but no more than the pods that there can be (G37).
int32_t CappedAtRoles(ObjectView job, std::string_view specs, std::string_view field, int32_t wanted,
                      std::vector<std::string>& warnings) {
  const int64_t most = MostPodsOf(job, specs).value_or(wanted);
  return Capped(wanted, most, fmt::format("{}: {}", job.Described(), field), warnings);
}

absl::StatusOr<int32_t> AllReplicas(ObjectView job, std::string_view specs,
                                    std::initializer_list<std::string_view> mandatory) {
  const json::value* const roles = job.At({"spec", specs});
  if (roles == nullptr || !roles->is_object())
    return Invalid(fmt::format("{}: spec.{}: is required", job.Described(), specs));
  for (const std::string_view role : mandatory) {
    if (job.At({"spec", specs, role}) == nullptr) {
      return Invalid(fmt::format("{}: spec.{}.{}: is required", job.Described(), specs, role));
    }
  }
  int64_t sum = 0;
  for (const auto& [role, spec] : roles->get_object()) {
    if (spec.is_null()) continue;
    if (!spec.is_object()) {
      return Invalid(fmt::format("{}: spec.{}.{}: must be an object", job.Described(), specs, std::string_view(role)));
    }
    BASALT_ASSIGN_OR_RETURN(const int32_t replicas, ReplicasOf(job, specs, role));
    if (replicas <= 0) {
      return Invalid(
          fmt::format("{}: spec.{}.{}.replicas: must be at least 1", job.Described(), specs, std::string_view(role)));
    }
    sum += replicas;
  }
  if (sum == 0 || sum > INT32_MAX) {
    return Invalid(
        fmt::format("{}: spec.{}: must have between 1 and {} replicas in all", job.Described(), specs, INT32_MAX));
  }
  return static_cast<int32_t>(sum);
}

// Returns minAvailable, else all replicas (6.3).
absl::StatusOr<int32_t> MinimumOfRoles(ObjectView job, std::string_view specs,
                                       std::initializer_list<std::string_view> mandatory,
                                       std::vector<std::string>& warnings) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> given, MinAvailableOf(job));
  if (!given) return AllReplicas(job, specs, mandatory);
  return CappedAtRoles(job, specs, kMinAvailable, *given, warnings);
}

absl::StatusOr<Grouping> GroupByRoles(const RuleInput& input, std::string_view specs,
                                      std::initializer_list<std::string_view> mandatory) {
  Grouping grouping = InheritFromTop(input);
  BASALT_ASSIGN_OR_RETURN(const int32_t minimum, MinimumOfRoles(input.top, specs, mandatory, grouping.warnings));
  grouping.minimum = {.count = minimum};
  return grouping;
}

// ---- PyTorchJob (6.5) ----

constexpr std::string_view kPyTorchSpecs = "pytorchReplicaSpecs";

absl::StatusOr<int32_t> MinimumOfPyTorch(ObjectView job, std::vector<std::string>& warnings) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> given, MinAvailableOf(job));
  if (given) return CappedAtRoles(job, kPyTorchSpecs, kMinAvailable, *given, warnings);
  BASALT_ASSIGN_OR_RETURN(const int32_t all, AllReplicas(job, kPyTorchSpecs, {}));
  const absl::StatusOr<std::optional<int32_t>> elastic = job.IntAt({"spec", "elasticPolicy", "minReplicas"});
  if (!elastic.ok() || !*elastic) return all;
  if (**elastic < 0) {
    return Invalid(fmt::format("{}: spec.elasticPolicy.minReplicas: must not be negative", job.Described()));
  }
  return Capped(**elastic, all, fmt::format("{}: spec.elasticPolicy.minReplicas", job.Described()), warnings);
}

// Makes `worker` the parent of segments of `size` pods. As many segments are mandatory as `minimum` pods fill.
absl::Status AddWorkerSegments(const RuleInput& input, int32_t size, int32_t replicas, int32_t minimum, bool holds_pod,
                               Grouping& grouping) {
  const int64_t count = (int64_t{replicas} + size - 1) / size;
  if (count > kMostSubGroups) {
    return Invalid(fmt::format("{}: {} workers in segments of {} are {} segments; there may be {} at most",
                               input.top.Described(), replicas, size, count, kMostSubGroups));
  }
  const int64_t mandatory = (int64_t{minimum} + size - 1) / size;
  const json::value* const worker_template = input.top.At({"spec", kPyTorchSpecs, "Worker", "template"});
  const Topology topology = SegmentTopologyOf(input.pod, worker_template, input.top);
  grouping.sub_groups.push_back(
      {.name = "worker", .minimum = {.count = static_cast<int32_t>(count), .of_sub_groups = true}});
  for (int64_t i = 0; i < count; ++i) {
    const int32_t rest = static_cast<int32_t>(replicas - i * size);
    grouping.sub_groups.push_back({.name = fmt::format("worker-{}", i),
                                   .parent = "worker",
                                   .minimum = {.count = i < mandatory ? std::min(size, rest) : 0},
                                   .topology = topology});
  }
  if (!holds_pod) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> index, IndexOf(input.pod, kReplicaIndexLabel));
  if (!index) {
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kReplicaIndexLabel));
  }
  // While a job is scaled down, pods above its replicas keep the segment that they are in.
  if (*index / size < count) grouping.pod_sub_group = fmt::format("worker-{}", *index / size);
  return absl::OkStatus();
}

absl::Status AddPyTorchSubGroups(const RuleInput& input, Grouping& grouping) {
  const ObjectView job = input.top;
  if (job.At({"spec", kPyTorchSpecs}) == nullptr) {
    return Invalid(fmt::format("{}: spec.{}: is required", job.Described(), kPyTorchSpecs));
  }
  const json::string* const type = input.pod.Label(kReplicaTypeLabel);
  int32_t masters = 0;
  if (job.At({"spec", kPyTorchSpecs, "Master"}) != nullptr) {
    BASALT_ASSIGN_OR_RETURN(masters, ReplicasOf(job, kPyTorchSpecs, "Master"));
    if (masters > 0) {
      grouping.sub_groups.push_back({.name = "master", .minimum = {.count = masters}});
      if (type != nullptr && *type == "master") grouping.pod_sub_group = "master";
    }
  }
  if (job.At({"spec", kPyTorchSpecs, "Worker"}) == nullptr) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const int32_t workers, ReplicasOf(job, kPyTorchSpecs, "Worker"));
  // Pods of other roles count for the group, and are no workers.
  const int32_t minimum = std::min(workers, std::max(0, grouping.minimum.count - masters));
  const bool holds_pod = type != nullptr && *type == "worker";
  const json::value* const worker_template = job.At({"spec", kPyTorchSpecs, "Worker", "template"});
  BASALT_ASSIGN_OR_RETURN(
      const std::optional<int32_t> size,
      SegmentSizeOf(input.pod, worker_template, fmt::format("{}: template of Worker", job.Described())));
  if (size && workers > 0) return AddWorkerSegments(input, *size, workers, minimum, holds_pod, grouping);
  grouping.sub_groups.push_back({.name = "worker", .minimum = {.count = minimum}});
  if (holds_pod) grouping.pod_sub_group = "worker";
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Grouping> GroupTfJob(const RuleInput& input) { return GroupByRoles(input, "tfReplicaSpecs", {}); }

absl::StatusOr<Grouping> GroupXgBoostJob(const RuleInput& input) {
  return GroupByRoles(input, "xgbReplicaSpecs", {"Master", "Worker"});
}

absl::StatusOr<Grouping> GroupJaxJob(const RuleInput& input) {
  return GroupByRoles(input, "jaxReplicaSpecs", {"Worker"});
}

// 6.4: a launcher that is made once the workers are ready does not belong to the gang before.
absl::StatusOr<Grouping> GroupMpiJob(const RuleInput& input) {
  constexpr std::string_view kSpecs = "mpiReplicaSpecs";
  BASALT_ASSIGN_OR_RETURN(Grouping grouping, GroupByRoles(input, kSpecs, {"Launcher", "Worker"}));
  const ObjectView job = input.top;
  if (job.TextAt({"spec", "launcherCreationPolicy"}) != "WaitForWorkersReady") return grouping;
  for (const ObjectView launcher :
       input.cluster.PodsWithLabels(input.pod.ns(), {{kJobNameLabel, job.name()}, {kJobRoleLabel, "launcher"}})) {
    if (!launcher.IsBeingDeleted()) return grouping;
  }
  if (job.At({"spec", kSpecs, "Launcher"}) == nullptr) {
    return Invalid(fmt::format("{}: spec.{}.Launcher: is required", job.Described(), kSpecs));
  }
  BASALT_ASSIGN_OR_RETURN(const int32_t launchers, ReplicasOf(job, kSpecs, "Launcher"));
  if (launchers <= 0) {
    return Invalid(fmt::format("{}: spec.{}.Launcher.replicas: must be at least 1", job.Described(), kSpecs));
  }
  grouping.minimum.count = std::max(0, grouping.minimum.count - launchers);
  return grouping;
}

absl::StatusOr<Grouping> GroupPyTorchJob(const RuleInput& input) {
  Grouping grouping = InheritFromTop(input);
  BASALT_ASSIGN_OR_RETURN(const int32_t minimum, MinimumOfPyTorch(input.top, grouping.warnings));
  grouping.minimum = {.count = minimum};
  BASALT_RETURN_IF_ERROR(AddPyTorchSubGroups(input, grouping));
  return grouping;
}

}  // namespace basalt::pgsvc
