#pragma once

// What follows from a job's spec alone, worked out once per change of it: the effective spec, what is wrong with it,
// the wanted PodGroup, plugin objects and claims. Pods are compiled when they are needed and dropped afterwards.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {

using PriorityOf = std::function<int32_t(std::string_view)>;

// A claim that pods of the job mount.
struct WantedClaim {
  std::string name;
  std::string json;  // Empty: somebody else makes it, and we wait.
};

struct CompiledSpec {
  kube::v1::JobSpec spec;  // Effective.
  StatusMessage refusal;   // Not empty: nothing is made for this job.
  StatusMessage warning;   // Not empty: something in it is hardly what was meant; it is carried out all the same.
  bool invalid() const { return !refusal.empty(); }
  std::vector<TaskShape> shape;
  kube::v1::PodGroupSpec group;
  std::vector<WantedObject> objects;
  std::vector<WantedClaim> claims;
  std::vector<std::string> plugins;  // Those that the status names by markers, in the fixed order.
};

// Its tasks; none where they could not be kept in memory.
std::vector<TaskShape> ShapeOf(const kube::v1::JobSpec& spec);

// The shape with an index for each of these pods as well, by what their names say (job spec 3.2).
std::vector<TaskShape> GrowTo(std::vector<TaskShape> shape, std::string_view job,
                              const std::vector<std::string_view>& pods);

CompiledSpec CompileSpec(const kube::v1::Job& job, const PriorityOf& priority_of, const DefaultOptions& defaults = {});

// Makes pods. Keeps copies of what it needs.
class PodMaker {
 public:
  PodMaker(const kube::v1::Job& job, const kube::v1::JobSpec& spec);
  // INVALID_ARGUMENT: template or plugin refuses the task.
  absl::StatusOr<std::string> Make(int32_t task, int32_t index, const PodContext& context);

 private:
  kube::v1::Job job_;
  kube::v1::JobSpec spec_;
  absl::StatusOr<PodCompiler> compiler_;
  std::vector<std::optional<absl::StatusOr<CompiledTask>>> tasks_;
};

}  // namespace basalt::jobsvc
