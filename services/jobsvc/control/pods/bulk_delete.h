#pragma once

// The part of a job that deletes the pods of a full kill in one call, where possible. Each kill has a state machine: a
// call is tried, the pods that it left are checked after a pause, and pods that do not go this way are deleted one by
// one. Its state is lost with the process on purpose. Runs on the controller's loop.
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
    kOpen,    // A call may be made, or one is under way (PartHost::collecting).
    kPaused,  // A call did not succeed: no other is made before the pause is over.
    kUnseen,  // A call succeeded: the watch is to show before the pause is over which pods have gone.
    kSingly,  // Pods are deleted one by one.
  };
  // The version of the kill, and whether no live pod stays.
  using KillId = std::pair<int32_t, bool>;
  // How a call ended.
  enum class Ending : uint8_t {
    kDone,
    kRefused,  // The call itself was refused, not only at this moment.
    kFailed,
    kNotSent,
  };

  // Returns true if no pod is to be deleted singly now.
  bool Apply(JobEntry& entry, PartHost& host);

  // ---- the state machine ----
  // Brings the machine to that kill and time: a new kill begins anew, and a pause may be over.
  void Advance(KillId kill, absl::Time now);
  // Records how a call ended. `has_progress`: fewer pods are left to delete than when the call was made.
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
  int empty_answers_ = 0;  // Number of calls in a row that brought nothing.
};

}  // namespace basalt::jobsvc
