#pragma once

// The faults of one seed, and the requests of users meanwhile. Everything random comes from the suite.
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
  // The arguments outlive the plan, and the plan outlives every task in the suite's time.
  FaultPlan(SimSuite& suite, const std::vector<PlannedJob>& jobs, Probes& probes)
      : suite_(suite), jobs_(jobs), probes_(probes) {}

  // Starts the faults that wait for a certain moment. Called at the start.
  void Begin();
  // Causes one fault. Called once every few seconds.
  void Step();
  // Removes each process that died at a write and starts it again later, and follows the owners of the jobs' slots.
  // Called often.
  void Watch();
  // Called when a job is being deleted, or has just been created under the name of another one. The owner of the job
  // may be interrupted now.
  void OnReplaced(const PlannedJob& job);
  // Ends all faults. Every joined host runs afterwards.
  void Heal();
  // Kills the host and starts it again later, after `least` at the earliest.
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
  // Returns a pod of a job that has not finished: one in that phase, or, if `phase` is empty, in any phase but
  // Succeeded. Empty if there is none.
  std::string PickPod(std::string_view phase);
  void AddFault(std::string_view verb, std::string_view resource, kubesim::FaultAction action, int code, int count);

  // ---- membership_faults.cc: members, and owners of slots ----
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
  // Returns the job's owner if it runs and is meant to run. Otherwise empty.
  std::string OwnerThatRuns(const PlannedJob& job) const;

  std::string PickService();
  // Returns a joined host of the program. For jobsvc, half of the picks try the owner of one of the jobs first.
  std::string PickHost(std::string_view program);
  std::string PickJobHost() { return PickHost("jobsvc"); }
  void StartLater(const std::string& host, absl::Duration least = absl::ZeroDuration());
  void After(absl::Duration delay, std::function<void()> then);

  SimSuite& suite_;
  const std::vector<PlannedJob>& jobs_;
  Probes& probes_;
  bool healed_ = false;
  std::map<std::string, std::string> owners_;  // jobsvc's replica that owns each job, by the job's name.
  std::set<std::string> lost_while_paused_;    // Replicas that were paused when their slots moved away.
  std::set<std::string> lost_while_down_;      // Replicas that were dead when their slots moved away.
  std::set<std::string> surplus_;              // Pods that ScaleBack() has found to be surplus.
  std::set<std::string> die_at_record_;        // Replicas that die at a record once they are started again.
};

}  // namespace basalt::simulation
