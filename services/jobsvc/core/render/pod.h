#pragma once

// Builds the pods of a job by job spec 10. A task is compiled once: the template is parsed, the parts that all pods
// share are written, and the plugins edit the result. Making a pod then only fills in its own texts.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/plugins/pod_edit.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {

// The values of a pod that are known only when it is made.
struct PodContext {
  int32_t version = 0;              // status.version
  int32_t retry_count = 0;          // status.retryCount
  std::string_view pod_group_name;  // The real name of the job's PodGroup (W18).
  bool forwarding = false;          // The queue has extendClusters.
};

// Immutable; safe from any thread.
class CompiledTask {
 public:
  // Returns the pod <job>-<task>-<index> as complete JSON, ready to be created.
  std::string Build(int32_t index, const PodContext& context) const;
  const std::string& name() const { return task_; }

 private:
  friend class PodCompiler;
  enum class Value : uint8_t { kNone, kIndexed, kVersion, kRetryCount, kGroupName };
  struct Piece {
    std::string text;
    Value value = Value::kNone;  // The value that follows the text.
    uint32_t function = 0;       // Only with kIndexed.
  };
  struct Form {
    std::vector<Piece> pieces;
    size_t size = 0;
  };

  std::string task_;
  std::vector<PodEdit::IndexFunction> functions_;
  std::array<Form, 2> forms_;  // Without and with forwarding.
};

// The tasks of one job. Immutable; holds copies of its arguments.
class PodCompiler {
 public:
  // `spec` is the effective spec. INVALID_ARGUMENT names the task whose template cannot be used.
  static absl::StatusOr<PodCompiler> Create(const kube::v1::Job& job, const kube::v1::JobSpec& spec);

  // INVALID_ARGUMENT if a plugin refuses the task. Requires: 0 <= task < spec.tasks_size().
  absl::StatusOr<CompiledTask> Compile(int task) const;

  const JobView& view() const { return view_; }
  const Plugins& plugins() const { return plugins_; }

 private:
  PodCompiler() = default;

  kube::v1::Job job_;  // Without its spec.
  kube::v1::JobSpec spec_;
  JobView view_;
  Plugins plugins_;
};

// Compiles a single task.
absl::StatusOr<CompiledTask> CompileTask(const kube::v1::Job& job, const kube::v1::JobSpec& spec, int task);
inline std::string BuildPod(const CompiledTask& task, int32_t index, const PodContext& context) {
  return task.Build(index, context);
}

// Returns the partition of a pod: index div size, or 0 if the size is not positive.
int32_t PartitionOf(int32_t index, int32_t partition_size);

}  // namespace basalt::jobsvc
