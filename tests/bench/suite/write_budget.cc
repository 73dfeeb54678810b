#include "tests/bench/suite/write_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tests/e2e/writer.h"
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

bool IsWrite(std::string_view verb) { return verb != "get" && verb != "list" && verb != "watch"; }

struct Spread {
  void Add(absl::Time time) {
    first = std::min(first, time);
    last = std::max(last, time);
    ++count;
  }
  absl::Duration length() const { return last < first ? absl::ZeroDuration() : last - first; }
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfinitePast();
  int count = 0;
};

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

  Spread starts;
  Spread ends;
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    if (request.time < begin || !IsWrite(request.verb)) continue;
    if (!e2e::IsByOwner(request.user_agent)) {
      if (request.resource != "pods" || request.subresource != "status") continue;
      const json::value* phase = FindPath(request.body, {"status", "phase"});
      if (phase == nullptr || !phase->is_string()) continue;
      if (phase->get_string() == "Running") starts.Add(request.time);
      if (phase->get_string() == "Succeeded") ends.Add(request.time);
      continue;
    }
    ++budget.by_kind[fmt::format("{} {}{}{}", request.verb, request.resource, request.subresource.empty() ? "" : "/",
                                 request.subresource)];
    if (request.resource == "events") {
      ++budget.events;
      continue;
    }
    if (request.resource == "queues") {
      ++budget.queues;
      continue;
    }
    ++budget.writes;
    if (request.status >= 400) ++budget.refused;
  }
  budget.start_spread = starts.length();
  budget.end_spread = ends.length();
  budget.started = starts.count;
  budget.ended = ends.count;
  return budget;
}

}  // namespace basalt::bench
