#pragma once

// The part of a job that creates its pods: the requests, the meaning of the answers, the tasks whose pods are refused,
// and names that other pods hold. Its state is lost with the process on purpose. Runs on the controller's loop.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/reconcile/retry.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/spec/compiled_job.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PodCreates {
 public:
  void Create(JobEntry& entry, const PodEffect& effect, PartHost& host);
  // Reports a name that another pod is observed to hold. Nothing is tried under such a name, so no refusal would report
  // it.
  void ReportHeldName(JobEntry& entry, PartHost& host);
  // Ends the problems of creates that the job no longer needs.
  void EndProblems(JobEntry& entry);
  // Call when the input of new pods has changed, or when no pod is to be created.
  void ForgetMaker() { maker_.reset(); }
  // The spec has changed: the next try is due at once.
  void TryNow();

  // The back-off of all creates, for requests that do not get through.
  const Retry& retry() const { return retry_; }
  // Tasks of which a pod was refused, and none was created since. The task that was tried longest ago comes first.
  const std::vector<int32_t>& refused_tasks() const { return refused_tasks_; }
  // The back-off of the refused tasks.
  const Retry& probe_retry() const { return probe_retry_; }

 private:
  void Created(JobEntry& entry, const PodEffect& effect, absl::Time sent, const runtime::WriteOutcome& outcome,
               PartHost& host);
  void Refused(JobEntry& entry, const PodEffect& effect, const gateway::v1::KubeError& error, PartHost& host);
  void TryTaskLater(JobEntry& entry, int32_t task, PartHost& host);
  // Reads the object under the name of the pod. `taken` is the refusal if the name is taken; nullopt if the outcome of
  // the create is unknown.
  static void Look(const JobEntry& entry, const PodEffect& effect, absl::Time sent,
                   std::optional<gateway::v1::KubeError> taken, PartHost& host);
  void Found(JobEntry& entry, const PodEffect& effect, absl::Time sent,
             const std::optional<gateway::v1::KubeError>& taken,
             const absl::StatusOr<gateway::v1::GetResponse>& response, PartHost& host);
  void FoundPod(JobEntry& entry, const std::string& pod, absl::Time sent, const gateway::v1::GetResponse& response,
                PartHost& host);
  void ForgetRefusals();
  // Ends FailedCreate for every pod that was tried, but not for a name that is observed to be held.
  void EndFailedCreate(JobEntry& entry) const;

  std::unique_ptr<PodMaker> maker_;  // Set while pods are being created.
  Retry retry_;
  std::vector<int32_t> refused_tasks_;
  Retry probe_retry_;
  std::string held_name_;  // The held name that is reported as a problem. Empty if there is none.
};

}  // namespace basalt::jobsvc
