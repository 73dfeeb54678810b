#pragma once

// The one table of rules for Volcano Jobs (job spec 2.2-2.7): the gRPC API applies it before a job is created, the
// controller to jobs that reached the cluster some other way. Pure.
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
  std::string rule;  // Of the spec: C4, P2, …; S… for the schema's own bounds (2.2), N… for what we do not carry out.
  std::string field;  // spec.tasks[1].name
  ViolationKind kind = ViolationKind::kInvalid;
  std::string message;  // One sentence that names the field and what would be right.
};

struct Validation {
  std::vector<Violation> violations;
  std::vector<Violation> warnings;  // Accepted, but not what one would expect.
  bool ok() const { return violations.empty(); }
};

struct QueueFacts {
  std::string state;          // status.state; empty on a queue that nobody has opened yet.
  bool has_children = false;  // Another queue names it as its parent.
};

// `spec` is the effective spec (effective_spec.h). What other objects decide is not asked: C16a, C16b and C16d.
Validation ValidateJob(const kube::v1::JobSpec& spec, std::string_view name, std::string_view job_namespace);

// C16a, C16b and C16d of the queue that a job names. Nullopt: there is no such queue.
std::vector<Violation> ValidateQueue(std::string_view queue, const std::optional<QueueFacts>& facts);

// U1-U5: the first violation wins, so at most one. Both specs as stored or sent, nothing defaulted.
std::vector<Violation> ValidateUpdate(const kube::v1::JobSpec& before, const kube::v1::JobSpec& after);

// Takes out what the definition fills in where nothing is given, so that it is no edit when somebody installs it.
void ClearDefaults(kube::v1::JobSpec& spec);
// What U5 holds fast: without what may change, and one of all specs that mean the same (job spec 1.2). The sentences of
// U4 and U5 go on behind the field.
kube::v1::JobSpec FixedPart(kube::v1::JobSpec spec);
inline constexpr std::string_view kCannotChange =
    "cannot be changed; of a job only minAvailable, priorityClassName and the tasks' replicas and minAvailable can";
std::string TaskCountChanged(int before, int after);

}  // namespace basalt::jobsvc
