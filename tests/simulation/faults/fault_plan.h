#pragma once

// The faults of one seed: what may break, and what users do meanwhile. Everything random comes from the suite.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
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

  // At the start: what waits for its moment.
  void Begin();
  // Once every few seconds.
  void Step();
  // Often: what has died at a write is removed and started again later; who owns what is looked at.
  void Watch();
  // A job is being deleted, or has just been made anew under the name of another one: whoever has it may lose it now.
  void OnReplaced(const PlannedJob& job);
  // The end of all faults; everything runs after it.
  void Heal();
  // It is started again; `least`: no sooner than so.
  void KillHost(const std::string& victim, absl::Duration least = absl::ZeroDuration());
  void StartHost(const std::string& host);

 private:
  // ---- fault_plan.cc: processes and disks, the network, the API server, users ----
  void Break(uint64_t what);
  void Disturb(uint64_t what);
  void MeetUsers();

  void LoseDiskOf(const std::string& victim);
  void LoseDiskInKill(absl::Time until);
  bool KillIsUnderWay() const;
  void LosePowerOf(const std::string& victim);
  void StallAndRestart();
  void RestartAfterNextPod(size_t before, absl::Time end);
  void Flap(size_t groups_before, absl::Time end);
  size_t CountGroups() const;
  void BreakAtNextPod(size_t before, absl::Time end);
  size_t CountPods() const;
  void DeleteFailedPodUnseen(const std::string& down, absl::Duration least);
  void DeleteFailedPodOnceItRuns(const PlannedJob& job, absl::Time until);
  void DeleteWhenFailed(const std::string& down, absl::Time until);
  // A pod whose job still has something to do: with one phase or, without, any but Succeeded. Empty: there is none.
  std::string PickPod(std::string_view phase);
  void AddFault(std::string_view verb, std::string_view resource, kubesim::FaultAction action, int code, int count);

  // ---- membership_faults.cc: who is there, and who owns what ----
  void Move(uint64_t what);
  std::string Join(std::string_view service);
  bool Leave(std::string_view service);
  void PauseHost(const std::string& victim, absl::Duration time);
  void PauseAcrossMove();
  void LoseDiskInMove();
  void CutOff();
  void CutTwo(const std::string& a, const std::string& b, absl::Duration time);
  void CutOffApi();
  void FollowOwners();
  void OnMoved(const std::string& from, const std::string& to);

  // ---- old_disk.cc ----
  void CatchDisk(const PlannedJob& job, bool stays, absl::Time until);
  void AfterSecondCommand(const PlannedJob& job, absl::Time until, std::function<void()> then);
  void ComeBackWith(const std::string& host, std::shared_ptr<kv::MemDisk> disk);
  void ComeBackAlone(const std::string& host, const std::string& key);
  void WatchForLoss(uint64_t before, absl::Time until);

  // ---- action_faults.cc: the worst moments of actions ----
  void BeginWithActions(const PlannedJob& job, absl::Time until);
  void LoseDiskAfterAction(const PlannedJob& job, int64_t known, std::shared_ptr<kv::MemDisk> before, absl::Time until);
  void DieBeforeDeletion(const PlannedJob& job, const PlannedCommand& command, absl::Time until);
  void EvictRunning(const PlannedJob& job, absl::Time until);
  void ScaleBack(const PlannedJob& job, absl::Time until);
  void BreakInCollection(absl::Time until);
  int64_t ActionsOf(const PlannedJob& job) const;
  // That runs, and is meant to; empty: there is none.
  std::string OwnerThatRuns(const PlannedJob& job) const;

  std::string PickService();
  // Any that is joined, or more often the one that owns one of the jobs.
  std::string PickHost(std::string_view program);
  std::string PickJobHost() { return PickHost("jobsvc"); }
  void StartLater(const std::string& host, absl::Duration least = absl::ZeroDuration());
  void After(absl::Duration delay, std::function<void()> then);

  SimSuite& suite_;
  const std::vector<PlannedJob>& jobs_;
  Probes& probes_;
  bool healed_ = false;
  std::map<std::string, std::string> owners_;  // Of each job: jobsvc's replica.
  std::set<std::string> lost_while_paused_;    // Replicas from which slots have moved,
  std::set<std::string> lost_while_down_;      // that were paused or dead then.
  std::set<std::string> surplus_;              // Pods that were seen to be.
  std::set<std::string> die_at_record_;        // Once they are started again.
};

}  // namespace basalt::simulation
