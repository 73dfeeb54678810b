#pragma once

// The part of a job that says that it is forwarded: its queue has other clusters (job spec 9.1). Lost with the process
// on purpose. On the controller's loop.
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class Forwarding {
 public:
  // Annotates the job, once (job spec 15.2, C11); before the PodGroup, which takes the annotation over, unless that is
  // refused.
  void Apply(JobEntry& entry, PartHost& host);
  bool under_way() const { return effect_.under_way(); }
  // The spec is another one: nothing is waited for.
  void TryNow() { effect_.retry().Succeed(); }
  const Retry& retry() const { return effect_.retry(); }

 private:
  void Answered(JobEntry& entry, const runtime::WriteOutcome& outcome, PartHost& host);

  Effect effect_;
};

}  // namespace basalt::jobsvc
