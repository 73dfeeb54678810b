#pragma once

// The part of a job that annotates the job as forwarded, if its queue has other clusters (job spec 9.1). Its state is
// lost with the process on purpose. Runs on the controller's loop.
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class Forwarding {
 public:
  // Annotates the job, once (job spec 15.2, C11). The annotation comes before the PodGroup, which takes it over; a
  // refused annotation does not hold up the PodGroup.
  void Apply(JobEntry& entry, PartHost& host);
  bool under_way() const { return effect_.under_way(); }
  // The spec has changed: the next try is due at once.
  void TryNow() { effect_.retry().Succeed(); }
  const Retry& retry() const { return effect_.retry(); }

 private:
  void Answered(JobEntry& entry, const runtime::WriteOutcome& outcome, PartHost& host);

  Effect effect_;
};

}  // namespace basalt::jobsvc
