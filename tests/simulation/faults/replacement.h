#pragma once

// A user deletes a job at some moment of its life and soon creates another one of the same name.
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
  // The arguments outlive this object, which outlives every task in the suite's time. `faults` is null if the run has
  // no faults. `submit` creates `next`.
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

  size_t CountPods() const;  // Counts the pods of the deleted job, without those that are being deleted.
  bool HasDeadline();

  SimSuite& suite_;
  const PlannedJob& job_;
  PlannedJob& next_;
  FaultPlan* const faults_;
  Probes& probes_;
  const std::function<void()> submit_;
  Moment moment_ = Moment::kAnyTime;
  absl::Time limit_ = absl::InfiniteFuture();  // The job is deleted by then, whatever state it has.
  absl::Duration gap_;  // The time from the end of the first job to the creation of the next one.
};

}  // namespace basalt::simulation
