#pragma once

// The part of a job that deletes the Commands that have been carried out. Its state is lost with the process on
// purpose. Runs on the controller's loop.
#include <string>
#include <string_view>

#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class CommandCleanup {
 public:
  void Apply(JobEntry& entry, PartHost& host);
  // The watch has shown that the command of that UID is gone.
  void Forget(std::string_view uid) { effects_.Forget(uid); }
  // Ends the problem once no Command is left to delete.
  void EndProblem(JobEntry& entry);
  // The spec has changed: the next try is due at once.
  void TryNow() { effects_.retry().Succeed(); }
  const Retry& retry() const { return effects_.retry(); }

 private:
  void Answered(JobEntry& entry, const std::string& uid, const std::string& name, const runtime::WriteOutcome& outcome,
                PartHost& host);

  EffectSet effects_;  // Keyed by the UID of the Command.
};

}  // namespace basalt::jobsvc
