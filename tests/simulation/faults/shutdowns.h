#pragma once

// Processes shut down, as on SIGTERM, and are started again: replicas, gateways, all replicas of a service, or the
// whole suite. Some are killed or paused meanwhile, or the process that takes over from them is.
//
// Half of the seeds have shutdowns. The random numbers of shutdowns come from a stream of their own, so that a seed
// without shutdowns is the same run as before shutdowns were added.
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

  // The arguments outlive this object, which outlives every task in the suite's time.
  Shutdowns(uint64_t seed, SimSuite& suite, FaultPlan& faults, const std::vector<PlannedJob>& jobs, Probes& probes);

  void Begin();
  // Ends all faults: starts each process again that is shutting down.
  void Heal();

 private:
  void Step();
  void ShutDownAny(std::string_view program);
  // Shuts down all processes of the program. If `program` is empty, those of every program.
  void ShutDownAll(std::string_view program);
  void ShutDown(const std::string& host);
  // Shuts down the leading gateway once it has writes under way.
  void ShutDownWithWrites(absl::Time until);
  void ShutDownSoon(const std::string& host);
  void InterruptReplica(const std::string& host);
  void InterruptGateway(const std::string& host);
  // Pauses the host after `soon`, for `time`.
  void PauseFor(const std::string& host, absl::Duration soon, absl::Duration time);
  void KillIfShuttingDown(const std::string& host);
  // Waits for the end of the process, of whatever kind, and starts it again some time later.
  void AwaitEnd(const std::string& host);
  void StartAgain(const std::string& host, bool loses_disk);

  bool IsCandidate(const std::string& host) const;
  // Returns the hosts that can shut down.
  std::vector<std::string> Candidates(std::string_view program) const;
  // Returns the leader if it is one of the hosts. Otherwise empty.
  std::string LeaderIn(const std::vector<std::string>& hosts) const;
  // Returns a host that can shut down, mostly the leader or the owner of one of the jobs. Empty if there is none.
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
