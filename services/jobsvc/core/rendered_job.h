#pragma once

// All that a job would have in a cluster, without one: for people who want to see what a manifest becomes. Pure but for
// the keys of ssh, which the caller has made.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

// In place of the UID that an API server gives the job.
inline constexpr std::string_view kRenderedUid = "00000000-0000-0000-0000-000000000000";

class RenderedJob {
 public:
  // `job` is accepted and has its defaults (api/manifest.h); classes of priority count as 0, since only a cluster knows
  // their values. INVALID_ARGUMENT: a template, a quantity or the spec cannot be used; says which.
  static absl::StatusOr<RenderedJob> Create(kube::v1::Job job);

  // Whether Objects needs a pair of keys.
  bool NeedsSshKeys() const;
  // Each as complete JSON: the PodGroup as it is made, which asks for the tasks that can start at once; what plugins
  // make, in the order in which they are made; and claims that the job makes. The keys are looked at where they are
  // needed alone. INVALID_ARGUMENT: one is larger than Kubernetes takes.
  absl::StatusOr<std::vector<std::string>> Objects(const SshKeyPair& keys) const;

  // Each pod as complete JSON, in order, of the first run: of all tasks and indices, of that task, or of that index of
  // the task alone. INVALID_ARGUMENT: there is no such task or index, or a plugin refuses a task.
  struct Which {
    std::string task;    // Empty: all.
    int32_t index = -1;  // -1: all.
  };
  absl::Status ForEachPod(const Which& which, const std::function<void(std::string)>& visit) const;

 private:
  RenderedJob() = default;
  std::string GroupName() const;
  kube::v1::PodGroupSpec FirstGroup() const;

  kube::v1::Job job_;
  CompiledSpec compiled_;
};

}  // namespace basalt::jobsvc
