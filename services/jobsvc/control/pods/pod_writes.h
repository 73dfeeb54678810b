#pragma once

// The part of a job that sends the writes that its pods need, in chunks. It marks and deletes pods itself; PodCreates
// creates pods, and BulkDelete deletes many in one call. Its state is lost with the process on purpose. Runs on the
// controller's loop.
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PodWrites {
 public:
  void Apply(JobEntry& entry, PartHost& host);
  // Call when no write about the pod of that name is under way any more.
  void Release(const std::string& pod) { writes_.Forget(pod); }
  // Holds the name: nothing is written under it before `hold` is over.
  void Hold(const JobEntry& entry, const std::string& pod, absl::Duration hold, PartHost& host);
  // Call when the watch has shown the newest state or the end of the pod.
  void EndHold(const std::string& pod) { held_until_.erase(pod); }
  // Ends the problem of marks and deletions that the job no longer needs.
  void EndProblem(JobEntry& entry);
  // The spec has changed: the next try is due at once.
  void TryNow() { writes_.retry().Succeed(); }
  const Retry& kill_retry() const { return writes_.retry(); }

 private:
  // Returns the names that have a write under way, are held, or have a change that no pass has applied yet.
  std::set<std::string> TakenNames(const JobEntry& entry, absl::Time now, PartHost& host);
  void Mark(const JobEntry& entry, const PodEffect& effect, PartHost& host);
  static void ReadNewest(const JobEntry& entry, const std::string& pod, const std::string& uid, PartHost& host);
  void Delete(const JobEntry& entry, const PodEffect& effect, PartHost& host);
  void Killed(JobEntry& entry, const std::string& pod, const runtime::WriteOutcome& outcome, const EffectPolicy& policy,
              absl::Duration hold, PartHost& host);

  EffectSet writes_;  // By the names of the pods, creates included. The back-off is that of marks and deletions.
  std::map<std::string, absl::Time> held_until_;  // Names, and until when each is held.
  std::string kills_after_;                       // The pod that was tried last while marks or deletions are refused.
};

}  // namespace basalt::jobsvc
