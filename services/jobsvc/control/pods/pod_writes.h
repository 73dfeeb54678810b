#pragma once

// The part of a job that sends what is left to be done about its pods, in chunks: it marks and deletes them here, and
// has them created by PodCreates and deleted together by BulkDelete. Lost with the process on purpose. On the
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
  // No write about the pod of that name is under way any more.
  void Release(const std::string& pod) { busy_.erase(pod); }
  // Nothing is written under that name before.
  void Hold(const JobEntry& entry, const std::string& pod, absl::Duration hold, PartHost& host);
  // The watch has shown what became of it.
  void EndHold(const std::string& pod) { held_until_.erase(pod); }
  // What is not wanted any more is no problem.
  void EndProblem(JobEntry& entry);
  // The spec is another one: nothing is waited for.
  void TryNow() { kill_retry_.Succeed(); }
  const Retry& kill_retry() const { return kill_retry_; }

 private:
  // Names with a write under way, that are held, or with a state that is not judged yet.
  std::set<std::string> TakenNames(const JobEntry& entry, absl::Time now, PartHost& host);
  void Mark(const JobEntry& entry, const PodEffect& effect, PartHost& host);
  static void ReadNewest(const JobEntry& entry, const std::string& pod, const std::string& uid, PartHost& host);
  void Delete(const JobEntry& entry, const PodEffect& effect, PartHost& host);
  void Killed(JobEntry& entry, const std::string& pod, const runtime::WriteOutcome& outcome, const EffectPolicy& policy,
              absl::Duration hold, PartHost& host);

  std::set<std::string> busy_;                    // Names with a write under way.
  std::map<std::string, absl::Time> held_until_;  // Names not to be written before.
  Retry kill_retry_;                              // Marking and deleting.
  std::string kills_after_;                       // The pod at which that got to while some are refused.
};

}  // namespace basalt::jobsvc
