#pragma once

// A user deletes a job at some moment of its life and soon makes another one of its name.
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "tests/simulation/faults/fault_plan.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class Replacement {
 public:
  // All outlive it, and it outlives every task in the suite's time. `faults`: null where there are none. `submit` makes
  // `next`.
  Replacement(SimSuite& suite, const PlannedJob& job, PlannedJob& next, FaultPlan* faults, Probes& probes,
              std::function<void()> submit)
      : suite_(suite), job_(job), next_(next), faults_(faults), probes_(probes), submit_(std::move(submit)) {}

  void Begin();

 private:
  enum class Moment { kAnyTime, kPods, kKill, kCollection, kDeadline, kCommand, kRetry, kOver };

  void Await();
  bool IsMoment();
  void Delete();
  void AwaitEnd();
  void Make();

  size_t CountPods() const;  // Of the job that is replaced, without those that are going.
  bool HasDeadline();

  SimSuite& suite_;
  const PlannedJob& job_;
  PlannedJob& next_;
  FaultPlan* const faults_;
  Probes& probes_;
  const std::function<void()> submit_;
  Moment moment_ = Moment::kAnyTime;
  absl::Time limit_ = absl::InfiniteFuture();  // It is deleted by then, whatever it has come to.
  absl::Duration gap_;                         // From the end of the one to the other.
};

}  // namespace basalt::simulation
