#pragma once

// Inside of validate.h: what every rule sees, and the groups of rules that lie in files of their own.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

// The sentences and patterns that deploy/crds says in the same words; tests/crds compares them.
inline constexpr std::string_view kAboveTaskReplicas =
    "must not be more than the task's replicas; lower it or raise replicas";
inline constexpr std::string_view kAboveAllReplicas =
    "must not be more than the replicas of all tasks; lower it or raise replicas";
inline constexpr std::string_view kOptionalLabel = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$";
inline constexpr std::string_view kSubdomain = R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)";
inline constexpr std::string_view kOptionalSubdomain =
    R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$)";

class Checker {
 public:
  Checker(const kube::v1::JobSpec& job_spec, std::string_view job_name, std::string_view its_namespace);

  const kube::v1::JobSpec& spec;
  const std::string_view name;
  const std::string_view job_namespace;
  const std::vector<absl::StatusOr<json::value>> templates;  // Of the tasks, parsed.
  Validation result;
  std::string_view rule;  // Being evaluated.

  // `what` completes the sentence "<field> …".
  void Add(ViolationKind kind, std::string field, std::string_view what);
  void Warn(std::string field, std::string_view what);
};

std::string TaskField(int task, std::string_view rest = {});

bool HasTask(const kube::v1::JobSpec& spec, std::string_view name);

// S1-S7.
void CheckSchedulerName(Checker& checker);
void CheckNotNegative(Checker& checker);
void CheckReferences(Checker& checker);
void CheckTaskNames(Checker& checker);
void CheckEnums(Checker& checker);
void CheckMountPaths(Checker& checker);
void CheckNamespace(Checker& checker);

// Where plugins mount what they add to every container.
std::vector<std::string> PathsOfPlugins(const kube::v1::JobSpec& spec);

// C2, C14, X3 (of svc, ssh and ray), X5; N4 and, which only warns, N2.
void CheckMpiMaster(Checker& checker);
void CheckPluginNames(Checker& checker);
void CheckNameForSvc(Checker& checker);
void CheckNameForSsh(Checker& checker);
void CheckRayHead(Checker& checker);
void CheckNameForRay(Checker& checker);
// Names N4 and N2 itself.
void CheckPlugins(Checker& checker);

// P1-P8 over one list of policies; each violation carries its own rule.
void CheckPolicies(Checker& checker, const google::protobuf::RepeatedPtrField<kube::v1::LifecyclePolicy>& policies,
                   std::string_view field);
// X4 and X6 over one list.
void CheckActions(Checker& checker, const google::protobuf::RepeatedPtrField<kube::v1::LifecyclePolicy>& policies,
                  std::string_view field, bool has_partitions);
// Only warns: of policies of the job that no task leaves anything to.
void WarnOfWhatTasksTake(Checker& checker);

// C8 and C9 for one task.
void CheckTemplate(Checker& checker, int task);
void CheckTopologyPolicy(Checker& checker, int task);

// What C10 and U1 share: the first rule that a partitioned task breaks; empty when none.
std::string PartitionProblem(const kube::v1::TaskSpec& task);
bool UsesBothTiers(const kube::v1::NetworkTopology& topology);

}  // namespace basalt::jobsvc
