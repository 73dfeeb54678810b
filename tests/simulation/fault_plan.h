#pragma once

// The faults of one seed: what may break, and what users do meanwhile. Everything random comes from the suite.
#include <string_view>
#include <vector>

#include "kubesim/server/faults/faults.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class FaultPlan {
 public:
  // All outlive the plan, and the plan outlives every task in the suite's time.
  FaultPlan(SimSuite& suite, const std::vector<PlannedJob>& jobs, Probes& probes)
      : suite_(suite), jobs_(jobs), probes_(probes) {}

  // Once every few seconds.
  void Step();
  // Often: what has died at a write is removed and started again later.
  void BuryTheDead();
  // The end of all faults; everything runs after it.
  void Heal();

 private:
  void Break(uint64_t what);
  void Disturb(uint64_t what);
  void MeetUsers();

  void KillProgram(std::string_view victim);
  void LoseDiskOf(std::string_view victim);
  void LoseDiskInKill(absl::Time until);
  bool KillIsUnderWay() const;
  void LosePowerOf(std::string_view victim);
  void StartLater(std::string_view program);
  void StallAndRestart();
  void RestartAfterNextPod(size_t before, absl::Time end);
  void Flap(size_t groups_before, absl::Time end);
  size_t CountGroups() const;
  void BreakAtNextPod(size_t before, absl::Time end);
  size_t CountPods() const;
  void CutOff();
  void DeleteFailedPodUnseen();
  void DeleteWhenFailed(absl::Time until);
  // A pod whose job still has something to do: with one phase or, without, any but Succeeded. Empty: there is none.
  std::string PickPod(std::string_view phase);
  void After(absl::Duration delay, std::function<void()> then);
  void AddFault(std::string_view verb, std::string_view resource, kubesim::FaultAction action, int code, int count);

  SimSuite& suite_;
  const std::vector<PlannedJob>& jobs_;
  Probes& probes_;
  bool healed_ = false;
};

}  // namespace basalt::simulation
