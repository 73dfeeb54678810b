#include "tests/bench/suite/write_budget.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/sim_suite.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kQuiet = absl::Seconds(30);  // Longer than every delay of a status write or a back-off.

// Returns a job of three tasks, whose pods end one second after the other.
std::string Manifest(int pods) {
  std::string tasks;
  for (int task = 0; task < 3; ++task) {
    const int replicas = (pods + task) / 3;
    if (replicas == 0) continue;
    tasks += fmt::format(
        R"({}{{"name":"t{}","replicas":{},"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c",)"
        R"("image":"busybox","command":["sh","-c","sleep {}; exit 0"],"resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}})",
        tasks.empty() ? "" : ",", task, replicas, 20 + task);
  }
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"budget","namespace":"default"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default","minAvailable":{},)"
      R"("plugins":{{"env":[],"svc":[],"ssh":[]}},"tasks":[{}]}}}})",
      pods, tasks);
}

}  // namespace

WriteBudget CountWrites(int pods) {
  WriteBudget budget;
  budget.pods = pods;
  simulation::SimSuite suite({.seed = 1, .nodes = 4 + pods / 500, .network = {}});
  suite.StartAll();
  // Afterwards queues, nodes and priority classes exist and the suite is at rest.
  suite.time().Advance(kQuiet);
  const absl::Time begin = suite.time().Now();
  suite.CreateObject(Manifest(pods));
  budget.completed =
      suite.time().AdvanceUntil([&] { return suite.JobPhase("default", "budget") == "Completed"; }, absl::Minutes(30));
  suite.time().Advance(kQuiet);

  json::array requests;
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    if (request.time >= begin) requests.push_back(ToJson(request));
  }
  const std::vector<LoggedWrite> writes = WritesOfKubesim(json::object{{"requests", std::move(requests)}});
  budget.tally = Count(writes, /*lists_events=*/true);
  for (const LoggedWrite& write : writes) {
    if (write.ours || write.resource != "pods" || write.subresource != "status") continue;
    if (write.phase == "Running") budget.starts.Add(write.time);
    if (write.phase == "Succeeded") budget.ends.Add(write.time);
  }
  return budget;
}

}  // namespace basalt::bench
