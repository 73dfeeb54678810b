#pragma once

// Processes shut down, as on SIGTERM, and are started again: replicas, gateways, all replicas of a service, or the
// whole suite. Some are killed or paused meanwhile, or whoever takes over from them is.
//
// Half of the seeds have shutdowns. What these draw comes from a stream of their own, so that a seed without any is the
// same run as before there were shutdowns.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "tests/simulation/faults/fault_plan.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class Shutdowns {
 public:
  static bool AreIn(uint64_t seed);

  // All outlive it, and it outlives every task in the suite's time.
  Shutdowns(uint64_t seed, SimSuite& suite, FaultPlan& faults, const std::vector<PlannedJob>& jobs, Probes& probes);

  void Begin();
  // The end of all faults: whatever is shutting down is started anew.
  void Heal();

 private:
  void Step();
  void ShutDownAny(std::string_view program);
  // Empty: of every program.
  void ShutDownAll(std::string_view program);
  void ShutDown(const std::string& host);
  // The gateway that leads, once it has writes under way.
  void ShutDownWithWrites(absl::Time until);
  void ShutDownSoon(const std::string& host);
  void InterruptReplica(const std::string& host);
  void InterruptGateway(const std::string& host);
  // `soon` from now, for `time`.
  void PauseFor(const std::string& host, absl::Duration soon, absl::Duration time);
  void KillIfShuttingDown(const std::string& host);
  // Starts it again some time after its end, however that came.
  void AwaitEnd(const std::string& host);
  void StartAgain(const std::string& host, bool loses_disk);

  bool IsCandidate(const std::string& host) const;
  // Those that can shut down.
  std::vector<std::string> Candidates(std::string_view program) const;
  // Empty: it is none of them.
  std::string LeaderIn(const std::vector<std::string>& hosts) const;
  // Mostly the one that leads, or that owns one of the jobs. Empty: there is none.
  std::string Pick(std::string_view program);
  absl::Duration UpTo(absl::Duration most);
  void After(absl::Duration delay, std::function<void()> then);

  SeededRandom random_;
  SimSuite& suite_;
  FaultPlan& faults_;
  const std::vector<PlannedJob>& jobs_;
  Probes& probes_;
  bool healed_ = false;
};

}  // namespace basalt::simulation
