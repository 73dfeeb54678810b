#pragma once

// The part of a job that creates its pods: the requests, what an answer means, which tasks are refused, and names that
// somebody else holds. Lost with the process on purpose. On the controller's loop.
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
#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PodCreates {
 public:
  void Create(JobEntry& entry, const PodEffect& effect, PartHost& host);
  // A name that is seen to be held: nothing is tried under it that would be told of.
  void ReportHeldName(JobEntry& entry, PartHost& host);
  // What is not wanted any more is no problem.
  void EndProblems(JobEntry& entry);
  // What pods are made from has changed, or none is to be made.
  void ForgetMaker() { maker_.reset(); }
  // The spec is another one: nothing is waited for.
  void TryNow();

  // Of all of them: requests do not get through.
  const Retry& retry() const { return retry_; }
  // Tasks of which a pod was refused, and none was made since: the longest untried first.
  const std::vector<int32_t>& refused_tasks() const { return refused_tasks_; }
  // Of those.
  const Retry& probe_retry() const { return probe_retry_; }

 private:
  void Created(JobEntry& entry, const PodEffect& effect, absl::Time sent, const runtime::WriteOutcome& outcome,
               PartHost& host);
  void Refused(JobEntry& entry, const PodEffect& effect, const gateway::v1::KubeError& error, PartHost& host);
  void TryTaskLater(JobEntry& entry, int32_t task, PartHost& host);
  // `taken`: what was answered where the name is taken; none: nobody knows what became of the create.
  static void Look(const JobEntry& entry, const PodEffect& effect, absl::Time sent,
                   std::optional<gateway::v1::KubeError> taken, PartHost& host);
  void Found(JobEntry& entry, const PodEffect& effect, absl::Time sent,
             const std::optional<gateway::v1::KubeError>& taken,
             const absl::StatusOr<gateway::v1::GetResponse>& response, PartHost& host);
  void FoundPod(JobEntry& entry, const std::string& pod, absl::Time sent, const gateway::v1::GetResponse& response,
                PartHost& host);
  void ForgetRefusals();
  // Pods can be made again, as far as it was tried: but not under a name that is seen to be held.
  void EndFailedCreate(JobEntry& entry) const;

  std::unique_ptr<PodMaker> maker_;  // While pods are being made.
  Retry retry_;
  std::vector<int32_t> refused_tasks_;
  Retry probe_retry_;
  std::string held_name_;  // A pod's name that somebody else was seen to hold, and that is a problem.
};

}  // namespace basalt::jobsvc
