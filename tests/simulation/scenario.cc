#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/fault_plan.h"

namespace basalt::simulation {
namespace {

constexpr absl::Duration kFaultTime = absl::Seconds(60);
constexpr absl::Duration kQuietLimit = absl::Minutes(20);
constexpr absl::Duration kQuiet = absl::Seconds(30);  // Longer than every delay of a status write or a back-off.

void SubmitLater(SimSuite& suite, PlannedJob& job) {
  Random& random = suite.random();
  suite.time().RunAfter(absl::Milliseconds(random.Uniform(20'000)),
                        [&suite, &job] { job.uid = suite.CreateObject(job.manifest); });
  if (!random.OneIn(6)) return;
  job.deleted = true;
  suite.time().RunAfter(absl::Milliseconds(20'000 + random.Uniform(15'000)), [&suite, &job] {
    suite.DeleteObject(fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{}", job.name));
  });
}

bool IsOver(const SimSuite& suite, const PlannedJob& job) {
  const std::string phase = suite.JobPhase("default", job.name);
  return job.deleted ? phase.empty() : IsFinishedPhase(phase);
}

void ReadLog(const kubesim::ApiServer& api, Probes& probes) {
  std::map<std::string, int64_t> versions;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.dropped_answer) probes.Hit("lost answer");
    if (request.dropped_request) probes.Hit("lost request");
    if (request.resource == "jobs" && request.subresource == "status") {
      if (request.status == 409) probes.Hit("409 on status");
      const json::value* version = FindPath(request.body, {"status", "version"});
      if (version != nullptr && version->is_int64() && version->as_int64() > versions[request.uid]) {
        versions[request.uid] = version->as_int64();
        probes.Hit("full kill");
      }
    }
    if (request.resource == "pods" && request.verb == "create" && request.subresource.empty() &&
        request.status == 409) {
      probes.Hit("409 on a pod's creation");
    }
  }
}

void Print(const kubesim::ApiServer& api, absl::Time begin) {
  for (const kubesim::LoggedRequest& request : api.log()) {
    fmt::print("{} {} {} {} {}/{} {} {}{}{} {}\n", absl::FormatDuration(request.time - begin), request.user_agent,
               request.verb, request.resource, request.ns, request.name, request.subresource, request.status,
               request.dropped_request ? " request lost" : "", request.dropped_answer ? " answer lost" : "",
               request.resource == "pods" && request.verb == "create" ? std::string() : ToText(request.body));
  }
}

}  // namespace

Outcome RunScenario(const ScenarioOptions& options) {
  Outcome outcome;
  SimSuiteOptions suite_options;
  suite_options.seed = options.seed;
  SimSuite suite(suite_options);
  Random& random = suite.random();
  const absl::Time begin = suite.time().Now();
  for (const std::string_view program : {"gateway", "jobsvc", "pgsvc", "queuesvc"}) suite.Start(program);

  std::vector<PlannedJob> jobs;
  const uint64_t count = 1 + random.Uniform(options.max_jobs);
  for (uint64_t i = 0; i < count; ++i) jobs.push_back(PlanJob(random, static_cast<int>(i)));
  for (PlannedJob& job : jobs) SubmitLater(suite, job);
  if (std::any_of(jobs.begin(), jobs.end(), [](const PlannedJob& job) { return job.late_queue; })) {
    outcome.probes.Hit("queue missing at first");
    suite.time().RunAfter(absl::Milliseconds(5'000 + random.Uniform(40'000)), [&suite] {
      suite.CreateObject(fmt::format(
          R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"weight":1}}}})",
          kLateQueue));
    });
  }

  FaultPlan faults(suite, jobs, outcome.probes);
  const absl::Time faults_end = begin + kFaultTime;
  absl::Time next_fault = begin + absl::Milliseconds(random.Uniform(4000));
  while (suite.time().Now() < faults_end) {
    suite.time().Advance(absl::Milliseconds(50));
    if (!options.faults) continue;
    faults.BuryTheDead();
    if (suite.time().Now() >= next_fault) {
      faults.Step();
      next_fault = suite.time().Now() + absl::Milliseconds(200 + random.Uniform(5000));
    }
  }
  faults.Heal();

  bool over = false;
  const absl::Time limit = suite.time().Now() + kQuietLimit;
  while (!over && suite.time().Now() < limit) {
    suite.time().Advance(absl::Milliseconds(100));
    over = std::all_of(jobs.begin(), jobs.end(), [&](const PlannedJob& job) { return IsOver(suite, job); });
  }
  suite.time().Advance(kQuiet);
  for (const PlannedJob& job : jobs) {
    if (over || IsOver(suite, job)) continue;
    outcome.violations.push_back(fmt::format("{} is {} and stays so", job.name, suite.JobPhase("default", job.name)));
  }
  Judge(suite, jobs, outcome.violations);
  if (options.print) Print(suite.api(), begin);
  outcome.trace = suite.TraceHash();
  outcome.simulated = suite.time().Now() - begin;
  outcome.steps = suite.time().steps();
  outcome.requests = suite.api().log().size();
  for (const std::string_view service : kServices) suite.Kill(service);
  outcome.probes.Add(suite.probes());
  ReadLog(suite.api(), outcome.probes);
  return outcome;
}

}  // namespace basalt::simulation
