#pragma once

// Internal to validate.h: the context of every rule, and the groups of rules in files of their own.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

// Texts and patterns that deploy/crds contains, too; tests/crds compares them.
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
  const std::vector<absl::StatusOr<json::value>> templates;  // The parsed templates of the tasks.
  Validation result;
  std::string_view rule;  // Code of the rule that is being evaluated.

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

// Returns the paths at which plugins mount their volumes in every container.
std::vector<std::string> PathsOfPlugins(const kube::v1::JobSpec& spec);

// C2, C14, X3 (svc, ssh and ray) and X5; N4, and N2, which only warns.
void CheckMpiMaster(Checker& checker);
void CheckPluginNames(Checker& checker);
void CheckNameForSvc(Checker& checker);
void CheckNameForSsh(Checker& checker);
void CheckRayHead(Checker& checker);
void CheckNameForRay(Checker& checker);
// Sets the rule to N4 or N2 itself.
void CheckPlugins(Checker& checker);

// Checks P1-P8 over one list of policies. Each violation carries its own rule.
void CheckPolicies(Checker& checker, const google::protobuf::RepeatedPtrField<kube::v1::LifecyclePolicy>& policies,
                   std::string_view field);
// Checks X4 and X6 over one list.
void CheckActions(Checker& checker, const google::protobuf::RepeatedPtrField<kube::v1::LifecyclePolicy>& policies,
                  std::string_view field, bool has_partitions);
// Warns of policies of the job that never match, since every task answers their events itself.
void WarnOfWhatTasksTake(Checker& checker);

// C8 and C9 for one task.
void CheckTemplate(Checker& checker, int task);
void CheckTopologyPolicy(Checker& checker, int task);

// Returns the first rule that a partitioned task breaks; C10 and U1 share it. Empty if it breaks none.
std::string PartitionProblem(const kube::v1::TaskSpec& task);
bool UsesBothTiers(const kube::v1::NetworkTopology& topology);

}  // namespace basalt::jobsvc
