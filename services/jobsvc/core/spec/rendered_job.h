#pragma once

// Every object that a job would have in a cluster, made without a cluster: for people who want to preview a manifest.
// Pure, except for the SSH keys, which the caller has made.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/spec/compiled_job.h"

namespace basalt::jobsvc {

// Replaces the UID that an API server gives the job.
inline constexpr std::string_view kRenderedUid = "00000000-0000-0000-0000-000000000000";

class RenderedJob {
 public:
  // `job` is accepted and has its defaults (api/manifest.h). Priority classes count as 0, since only a cluster knows
  // their values. INVALID_ARGUMENT if a template, a quantity or the spec cannot be used; the message names it.
  static absl::StatusOr<RenderedJob> Create(kube::v1::Job job);

  // Returns whether Objects() needs a key pair.
  bool NeedsSshKeys() const;
  // Returns each object as complete JSON: the PodGroup as it is first made, with the minimums of the tasks that can
  // start at once; the objects of plugins, in the order of their creation; the claims that the job makes. The keys are
  // used only by objects that need them. INVALID_ARGUMENT if an object is larger than Kubernetes accepts.
  absl::StatusOr<std::vector<std::string>> Objects(const SshKeyPair& keys) const;

  // Visits each pod of the first run as complete JSON, in order: of all tasks, of one task, or of one index of a task.
  // INVALID_ARGUMENT if the task or index does not exist, or if a plugin refuses a task.
  struct Which {
    std::string task;    // Empty for all tasks.
    int32_t index = -1;  // -1 for all indices.
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
