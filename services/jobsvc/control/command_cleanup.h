#pragma once

// The part of a job that deletes Commands that are carried out. Lost with the process on purpose. On the controller's
// loop.
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
  // Ends the problem when there is nothing to be deleted any more.
  void EndProblem(JobEntry& entry);
  // The spec is another one: nothing is waited for.
  void TryNow() { effects_.retry().Succeed(); }
  const Retry& retry() const { return effects_.retry(); }

 private:
  void Answered(JobEntry& entry, const std::string& uid, const std::string& name, const runtime::WriteOutcome& outcome,
                PartHost& host);

  EffectSet effects_;  // By UID.
};

}  // namespace basalt::jobsvc
