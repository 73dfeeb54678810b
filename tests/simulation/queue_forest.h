#pragma once

// Queues of their own beside the jobs of a run, with pod groups that nobody schedules, and what users do to both:
// Commands, edits of state and parent by hand, deletions, queues that are made anew under their name.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/base/random.h"
#include "kubesim/server/api_server.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class QueueForest {
 public:
  // Both outlive it, and it outlives every task in the suite's time.
  QueueForest(uint64_t seed, SimSuite& suite, Probes& probes);

  // Whether the seed has any. What a run without them does is the same whether or not others have them.
  static bool IsIn(uint64_t seed);

  // What is made and done, in times from now that lie before the end of the faults.
  void Begin();

 private:
  void Act();
  void MakeQueue(std::string_view name);
  void MakeGroup();
  void Command(std::string_view queue);
  std::string_view PickQueue();
  void After(absl::Duration least, absl::Duration most, std::function<void()> then);

  SeededRandom random_;
  SimSuite& suite_;
  Probes& probes_;
  int commands_ = 0;
  int groups_ = 0;
};

// The names of the queues that there may be.
const std::vector<std::string>& ForestQueues();
// Those that are there, of all pod groups and Commands that were made.
std::vector<std::shared_ptr<const json::value>> ForestGroups(const kubesim::ApiServer& api);
std::vector<std::shared_ptr<const json::value>> ForestCommands(const kubesim::ApiServer& api);

}  // namespace basalt::simulation
