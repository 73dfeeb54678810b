#pragma once

// The one table of rules for Volcano Jobs (job spec 2.2-2.7). The gRPC API applies it before a job is created, the
// controller applies it to jobs that reached the cluster some other way. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

// The error kinds of the job spec.
enum class ViolationKind { kRequired, kInvalid, kDuplicate, kConflict, kNotFound, kPrecondition, kImmutable };
std::string_view ViolationKindName(ViolationKind kind);  // REQUIRED, INVALID, …

struct Violation {
  // Code in the spec: C4, P2, …. S… are the schema's own bounds (2.2), N… are features that we do not carry out.
  std::string rule;
  std::string field;  // spec.tasks[1].name
  ViolationKind kind = ViolationKind::kInvalid;
  std::string message;  // One sentence that names the field and a correct value.
};

struct Validation {
  std::vector<Violation> violations;
  std::vector<Violation> warnings;  // For input that is accepted but has an unexpected effect.
  bool ok() const { return violations.empty(); }
};

struct QueueFacts {
  std::string state;          // The status.state. Empty if nobody has opened the queue yet.
  bool has_children = false;  // Another queue names it as its parent.
};

// `spec` is the effective spec (effective_spec.h). Rules that depend on other objects are left out: C16a, C16b and
// C16d.
Validation ValidateJob(const kube::v1::JobSpec& spec, std::string_view name, std::string_view job_namespace);

// Checks C16a, C16b and C16d for the queue that a job names. Nullopt if there is no such queue.
std::vector<Violation> ValidateQueue(std::string_view queue, const std::optional<QueueFacts>& facts);

// Checks U1-U5, and returns the first violation only. Both specs are as stored or sent, without defaults.
std::vector<Violation> ValidateUpdate(const kube::v1::JobSpec& before, const kube::v1::JobSpec& after);

// Clears the fields that have the definition's defaults, so that installing the definition is no edit.
void ClearDefaults(kube::v1::JobSpec& spec);
// Returns the part of the spec that U5 protects, in one form for all specs of the same meaning (job spec 1.2).
kube::v1::JobSpec FixedPart(kube::v1::JobSpec spec);
// The texts of U4 and U5, which follow the field.
inline constexpr std::string_view kCannotChange =
    "cannot be changed; of a job only minAvailable, priorityClassName and the tasks' replicas and minAvailable can";
std::string TaskCountChanged(int before, int after);

}  // namespace basalt::jobsvc
