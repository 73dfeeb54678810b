#pragma once

// The forest has queues of its own beside the jobs of a run, with pod groups that no scheduler handles. Users act on
// both: by Commands, edits of state and parent by hand, deletions, and queues that are created anew under their name.
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
  // `suite` and `probes` outlive this object, which outlives every task in the suite's time.
  QueueForest(uint64_t seed, SimSuite& suite, Probes& probes);

  // Returns true if the seed has a forest. A forest does not change the runs of the other seeds.
  static bool IsIn(uint64_t seed);

  // Schedules the creation of the queues and the acts of users. All begin before the end of the faults.
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

// Returns the names that the forest's queues may have.
const std::vector<std::string>& ForestQueues();
// Returns the pod groups of the forest that exist.
std::vector<std::shared_ptr<const json::value>> ForestGroups(const kubesim::ApiServer& api);
// Returns the Commands of the forest that exist.
std::vector<std::shared_ptr<const json::value>> ForestCommands(const kubesim::ApiServer& api);

}  // namespace basalt::simulation
