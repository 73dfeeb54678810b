#pragma once

// The part of a job that writes its status: the commit of a decision, one at a time (docs/contracts.md). The intent is
// in the job's record; here is what this process knows of the write. Lost with the process on purpose. On the
// controller's loop.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/reconcile/effect.h"
#include "common/reconcile/retry.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// What the status says of the commit that was last meant.
enum class CommitShown : uint8_t {
  kNothing,    // None is meant, and the status is as it was committed.
  kCommitted,  // It has taken effect.
  kNotYet,     // It is under way, or has come to nothing.
  kStale,      // Others have committed since: the record is worth nothing.
};
CommitShown ShownOf(const storage::v1::JobRecord& record, const ControlledState& persisted);

class StatusCommit {
 public:
  enum class State : uint8_t {
    kIdle,      // Nothing is under way; an intent in the record is given up.
    kRecorded,  // The intent is in the batch of the round: it is sent once that is durable.
    kSent,
    kUnknown,  // No answer came: a read of the job says what became of it.
  };
  enum class Step : uint8_t {
    kRecord,
    kSend,
    kAnswer,   // Whatever the answer says; or the job has been read.
    kLose,     // The answer.
    kResolve,  // The status shows what became of it.
  };
  static State Next(State state, Step step);

  // A decision is to be written.
  void Record(JobEntry& entry, Decision decision);
  // The batch is durable: sends what was recorded.
  void Send(JobEntry& entry, PartHost& host);
  // It has taken effect.
  void Resolve(JobEntry& entry);
  // Others have committed since.
  void GiveUp() { state_ = Next(state_, Step::kResolve); }
  // The write has come to nothing.
  void DropIntent(JobEntry& entry);
  // The job has been read: where the answer was lost, the status that is there now says what became of the write; where
  // the write has met another version, that one is known now.
  void EndLook(const JobEntry& entry, PartHost& host);

  bool under_way() const { return state_ != State::kIdle; }
  const Retry& retry() const { return retry_; }
  // What the API server refuses of it.
  const StatusMessage& problem() const { return problem_; }
  // Decision::again of it.
  const std::vector<PodIndex>& again() const { return again_; }

  // Since when counts alone differ from what the status says.
  std::optional<absl::Time> differs_since;

 private:
  // The part of the entry if the commit of that nonce is under way: the watch may have shown it before its answer came,
  // and the next one be under way.
  static StatusCommit* Find(JobEntry& entry, const std::string& nonce);
  void Answered(JobEntry& entry, const runtime::WriteOutcome& outcome, PartHost& host);

  State state_ = State::kIdle;
  Retry retry_;
  OutdatedVersion outdated_;          // Of the job.
  std::vector<PendingEvent> events_;  // To be recorded once the write is acknowledged.
  std::vector<PodIndex> again_;
  StatusMessage problem_;
};

}  // namespace basalt::jobsvc
