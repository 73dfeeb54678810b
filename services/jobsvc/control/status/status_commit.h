#pragma once

// The part of a job that writes its status: it commits decisions, one at a time (docs/contracts.md). The job's record
// holds the intent; this part holds what the process knows of the write, and is lost with the process on purpose. Runs
// on the controller's loop.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/reconcile/effect.h"
#include "common/reconcile/retry.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// The progress of the commit that was recorded last, as the job's status shows it.
enum class CommitShown : uint8_t {
  kNothing,    // No intent is recorded, and nobody else has committed.
  kCommitted,  // The intent has taken effect.
  kNotYet,     // The write is under way, or has had no effect.
  kStale,      // Others have committed since: the record is stale.
};
CommitShown ShownOf(const storage::v1::JobRecord& record, const ControlledState& persisted);

class StatusCommit {
 public:
  enum class State : uint8_t {
    kIdle,      // No write is under way. An intent in the record is given up.
    kRecorded,  // The intent is in the batch of the round. It is sent once the batch is durable.
    kSent,
    kUnknown,  // No answer came: a read of the job shows whether the write took effect.
  };
  enum class Step : uint8_t {
    kRecord,
    kSend,
    kAnswer,   // An answer came, whatever it is, or the job has been read.
    kLose,     // The answer is lost.
    kResolve,  // The status shows whether the write took effect.
  };
  static State Next(State state, Step step);

  // Puts the decision into the job's record as the intent.
  void Record(JobEntry& entry, Decision decision);
  // Sends the recorded intent. Call once the batch is durable.
  void Send(JobEntry& entry, PartHost& host);
  // Call when the write has taken effect.
  void Resolve(JobEntry& entry);
  // Call when others have committed since.
  void GiveUp() { state_ = Next(state_, Step::kResolve); }
  // Call when the write has had no effect.
  void DropIntent(JobEntry& entry);
  // Call when the job has been read. If the answer was lost, the status now shows whether the write took effect. If the
  // write met another version, that version is known now.
  void EndLook(const JobEntry& entry, PartHost& host);

  bool under_way() const { return state_ != State::kIdle; }
  const Retry& retry() const { return retry_; }
  // The API server's refusal of the write. Empty if there is none.
  const StatusMessage& problem() const { return problem_; }
  // Decision::again of the recorded decision.
  const std::vector<PodIndex>& again() const { return again_; }

  // Since when the status differs in counts alone. Nullopt if it does not.
  std::optional<absl::Time> differs_since;

 private:
  // Returns the entry's part if the commit of that nonce is under way, else null: the watch may have shown that commit
  // before its answer came, and the next one may be under way.
  static StatusCommit* Find(JobEntry& entry, const std::string& nonce);
  void Answered(JobEntry& entry, const runtime::WriteOutcome& outcome, PartHost& host);

  State state_ = State::kIdle;
  Retry retry_;
  OutdatedVersion outdated_;          // The version of the job that a conflict has outdated.
  std::vector<PendingEvent> events_;  // Events to be recorded once the write is acknowledged.
  std::vector<PodIndex> again_;
  StatusMessage problem_;
};

}  // namespace basalt::jobsvc
