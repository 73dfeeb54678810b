#pragma once

// The part of a job that doubts whether the status that is known here is the newest one, and reads the job where the
// status is doubted: a watch may lag behind what was written, and behind the watch of the pods. By an older status pods
// would be deleted and made that belong to a newer one. Until the read has succeeded, nothing is decided and no effect
// begins (docs/correctness.md section 3). The part is lost with the process; what has to be doubted again stands in the
// job's record. It lives on the controller's loop.
#include <cstdint>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/reconcile/retry.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class NewestStatus {
 public:
  // A write of the status has met another state than the one that is known here, or its answer is lost, maybe together
  // with the process; or the record says that the job is to be read.
  void Doubt();
  // Nothing is recorded here of what the status says: another replica wrote it. A status without a phase and that of a
  // finished job mislead nobody, and after one read whatever the watch shows is as new as the read.
  void DoubtUnrecorded(kube::v1::JobPhase phase);
  // The watch shows what this process has written last.
  void EndDoubt();
  bool is_doubted() const { return state_ == State::kDoubted || state_ == State::kReading; }
  // Sends the read that is due, if one is.
  void Apply(const JobEntry& entry, PartHost& host);

  const Retry& retry() const { return retry_; }
  // The words by which the API server refuses the read; empty: it does not.
  const StatusMessage& problem() const { return problem_; }

 private:
  enum class State : uint8_t {
    kTrusted,  // No read is needed.
    kDoubted,
    kReading,
    kRead,
  };
  void OnRead(JobEntry& entry, absl::StatusOr<gateway::v1::GetResponse> response, PartHost& host);

  State state_ = State::kTrusted;
  uint64_t reads_ = 0;  // So many were sent: the answer to an earlier one than the last says nothing.
  Retry retry_;
  StatusMessage problem_;
};

}  // namespace basalt::jobsvc
