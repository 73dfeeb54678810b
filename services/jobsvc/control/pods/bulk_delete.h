#pragma once

// The part of a job that deletes the pods of a full kill in one call, where it can. A state machine of each kill: a
// call is tried, what it has left is looked at after a pause, and what does not go this way goes singly. Lost with the
// process on purpose. On the controller's loop.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class BulkDelete {
 public:
  enum class State : uint8_t {
    kOpen,    // A call may be made; or one is under way (PartHost::collecting).
    kPaused,  // A call has not done all: no other before the pause is over.
    kUnseen,  // A call was done: the watch shows what has gone, before the pause is over.
    kSingly,  // Pods go one by one.
  };
  // Version of the kill, and whether nothing live stays.
  using KillId = std::pair<int32_t, bool>;
  // How a call ended.
  enum class Ending : uint8_t {
    kDone,
    kRefused,  // For what it is, not for the moment.
    kFailed,
    kNotSent,
  };

  // True: nothing is to be deleted singly now.
  bool Apply(JobEntry& entry, PartHost& host);

  // ---- the state machine ----
  // The kill is that one, and it is now: a new kill begins anew, and a pause may be over.
  void Advance(KillId kill, absl::Time now);
  // `has_progress`: there is less to be deleted than when the call was made.
  void End(Ending ending, bool has_progress, absl::Time now);
  State state() const { return state_; }
  absl::Time pause_until() const { return pause_until_; }
  const KillId& kill() const { return kill_; }

  static Ending EndingOf(const runtime::WriteOutcome& outcome);

 private:
  bool IsPausing() const { return state_ == State::kPaused || state_ == State::kUnseen; }
  void Send(const JobEntry& entry, const PodCollection& collection, PartHost& host) const;

  KillId kill_ = {-1, false};
  State state_ = State::kOpen;
  absl::Time pause_until_ = absl::InfinitePast();
  int empty_answers_ = 0;  // Calls that brought nothing, one after the other.
};

}  // namespace basalt::jobsvc
