#include "services/jobsvc/control/status/newest_status.h"

#include <utility>

#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

void NewestStatus::Doubt() {
  if (state_ != State::kReading) state_ = State::kDoubted;
}

void NewestStatus::DoubtUnrecorded(kube::v1::JobPhase phase) {
  if (phase == kube::v1::JOB_PHASE_UNSPECIFIED || IsFinished(phase)) return;
  if (state_ == State::kTrusted) state_ = State::kDoubted;
}

void NewestStatus::EndDoubt() {
  if (!is_doubted()) return;
  state_ = State::kTrusted;
  retry_.Succeed();
  problem_ = {};
}

void NewestStatus::Apply(const JobEntry& entry, PartHost& host) {
  if (state_ != State::kDoubted || host.Waits(entry, retry_)) return;
  state_ = State::kReading;
  host.Get(entry, kube::GetOf(kube::kJobs, entry.ns, entry.name),
           [&host, read = ++reads_](JobEntry& live, absl::StatusOr<gateway::v1::GetResponse> response) {
             NewestStatus& status = live.newest_status;
             if (status.state_ == State::kReading && status.reads_ == read)
               status.OnRead(live, std::move(response), host);
           });
}

void NewestStatus::OnRead(JobEntry& entry, absl::StatusOr<gateway::v1::GetResponse> response, PartHost& host) {
  const bool was_refused = !problem_.empty();
  problem_ = {};
  const bool is_same = response.ok() && response->has_object() && response->object().has_job() &&
                       response->object().job().meta().uid() == entry.record.uid();
  if (!is_same) {
    state_ = State::kDoubted;
    // If nothing has the name, or another job has it, the watch will show the end of this job.
    if (response.ok() && response->has_error() && AnswerOfRead(response) != Answer::kNotFound) {
      const std::string& words = response->error().message();
      problem_ = {"JobStatusError", words};
      if (!was_refused) obs::LogWarning("the API server refuses to show a job", {{"job", entry.key}, {"error", words}});
    }
    return host.TryAgain(entry, retry_);
  }
  state_ = State::kRead;
  retry_.Succeed();
  // Merge the answer with the states of the watch, so that no older state follows.
  host.context().MergeAnswer(entry.key, response->object(), /*gone=*/false);
  entry.commit.EndLook(entry, host);
  host.Wake(entry);
}

}  // namespace basalt::jobsvc
