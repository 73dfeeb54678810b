#pragma once

// The part of a job that doubts whether the known status is the newest one, and then reads the job: a watch may lag
// behind our writes, and behind the watch of the pods. Acting by an older status would delete and create pods that
// belong to a newer one. Until the read has succeeded, nothing is decided and no effect begins (docs/correctness.md
// section 3). The part is lost with the process; the job's record states whether the next process has to doubt again.
// It lives on the controller's loop.
#include <cstdint>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/reconcile/retry.h"
#include "services/jobsvc/core/decide/decide.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class NewestStatus {
 public:
  // Call when a status write has met another state than the known one, when its answer is lost, maybe together with the
  // process, or when the record states that the job has to be read.
  void Doubt();
  // Call when no record here goes with the status: another replica wrote it. Nothing is doubted for a status without a
  // phase or of a finished job, which cannot mislead, nor after one read: whatever the watch shows then is as new as
  // the read.
  void DoubtUnrecorded(kube::v1::JobPhase phase);
  // Call when the watch shows the last status write of this process.
  void EndDoubt();
  bool is_doubted() const { return state_ == State::kDoubted || state_ == State::kReading; }
  // Sends the read that is due, if one is.
  void Apply(const JobEntry& entry, PartHost& host);

  const Retry& retry() const { return retry_; }
  // The message by which the API server refuses the read. Empty if it does not.
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
  uint64_t reads_ = 0;  // Number of reads sent: only the answer to the last one counts.
  Retry retry_;
  StatusMessage problem_;
};

}  // namespace basalt::jobsvc
