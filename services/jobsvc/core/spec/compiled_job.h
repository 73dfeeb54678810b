#pragma once

// Everything that follows from a job's spec alone, computed once per change of the spec: the effective spec, its
// violations, the wanted PodGroup, plugin objects and claims. Pods are compiled when they are needed and dropped
// afterwards.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {

using PriorityOf = std::function<int32_t(std::string_view)>;

// A claim that pods of the job mount.
struct WantedClaim {
  std::string name;
  std::string json;  // Empty if somebody else makes the claim and the job waits for it.
};

struct CompiledSpec {
  kube::v1::JobSpec spec;  // Effective.
  StatusMessage refusal;   // If not empty, nothing is made for this job.
  // If not empty, something in the spec is hardly intended. The spec is carried out all the same.
  StatusMessage warning;
  bool invalid() const { return !refusal.empty(); }
  std::vector<TaskShape> shape;
  kube::v1::PodGroupSpec group;
  std::vector<WantedObject> objects;
  std::vector<WantedClaim> claims;
  std::vector<std::string> plugins;  // Those to which the status has markers, in the fixed order.
};

// Returns the tasks of the spec. Empty if the spec has more pods than memory could hold.
std::vector<TaskShape> ShapeOf(const kube::v1::JobSpec& spec);

// Returns the shape, grown so that each of these pods has an index if its name contains one (job spec 3.2).
std::vector<TaskShape> GrowTo(std::vector<TaskShape> shape, std::string_view job,
                              const std::vector<std::string_view>& pods);

CompiledSpec CompileSpec(const kube::v1::Job& job, const PriorityOf& priority_of, const DefaultOptions& defaults = {});

// Makes pods. Keeps copies of its arguments.
class PodMaker {
 public:
  PodMaker(const kube::v1::Job& job, const kube::v1::JobSpec& spec);
  // INVALID_ARGUMENT if the template or a plugin refuses the task.
  absl::StatusOr<std::string> Make(int32_t task, int32_t index, const PodContext& context);

 private:
  kube::v1::Job job_;
  kube::v1::JobSpec spec_;
  absl::StatusOr<PodCompiler> compiler_;
  std::vector<std::optional<absl::StatusOr<CompiledTask>>> tasks_;
};

}  // namespace basalt::jobsvc
