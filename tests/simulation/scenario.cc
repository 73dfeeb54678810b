#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace basalt::simulation {
namespace {

constexpr absl::Duration kFaultTime = absl::Seconds(60);
constexpr absl::Duration kQuietLimit = absl::Minutes(20);
constexpr absl::Duration kQuiet = absl::Seconds(30);  // Longer than every delay of a status write or a back-off.

std::string_view Pick(Random& random, std::initializer_list<std::string_view> of) {
  return *(of.begin() + random.Uniform(of.size()));
}

PlannedJob PlanJob(Random& random, int number) {
  PlannedJob job;
  job.name = fmt::format("job-{}", number);
  for (const std::string_view plugin : {"env", "svc", "ssh"}) {
    if (random.OneIn(2)) job.plugins.emplace_back(plugin);
  }
  const uint64_t tasks = 1 + random.Uniform(3);
  std::string task_list;
  for (uint64_t t = 0; t < tasks; ++t) {
    const uint64_t replicas = 1 + random.Uniform(5);
    const bool fails = random.OneIn(8);
    if (fails) job.succeeds = false;
    const std::string depends =
        t > 0 && random.OneIn(3) ? fmt::format(R"(,"dependsOn":{{"name":["t{}"]}})", t - 1) : std::string();
    if (t > 0) task_list += ",";
    task_list += fmt::format(
        R"({{"name":"t{}","replicas":{}{},"template":{{"spec":{{"restartPolicy":"Never","containers":[)"
        R"({{"name":"c","image":"busybox","command":["sh","-c","sleep {}; exit {}"],)"
        R"("resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}})",
        t, replicas, depends, 1 + random.Uniform(8), fails ? 3 : 0);
    for (uint64_t i = 0; i < replicas; ++i) job.pods.push_back(fmt::format("{}-t{}-{}", job.name, t, i));
  }
  std::string plugins;
  for (const std::string& plugin : job.plugins) {
    plugins += fmt::format(R"({}"{}":[])", plugins.empty() ? "" : ",", plugin);
  }
  // With dependencies a gang of all would never start (weakness W33), so the gang is the first task alone.
  const bool depends = task_list.find("dependsOn") != std::string::npos;
  job.manifest = fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default",{}"plugins":{{{}}},"tasks":[{}]}}}})",
      job.name, depends ? R"("minAvailable":1,)" : "", plugins, task_list);
  // One success is enough for a gang of one, so a failing task does not fail it for sure: such jobs all succeed.
  if (depends && !job.succeeds) {
    job.succeeds = true;
    size_t at = 0;
    while ((at = job.manifest.find("exit 3", at)) != std::string::npos) job.manifest.replace(at, 6, "exit 0");
  }
  return job;
}

class FaultPlan {
 public:
  FaultPlan(SimSuite& suite, Outcome& outcome) : suite_(suite), outcome_(outcome) {}

  void Step() {
    Random& random = suite_.random();
    switch (random.Uniform(14)) {
      case 0:
      case 1: {
        const std::string_view victim = Pick(random, {"gateway", "jobsvc", "pgsvc", "queuesvc"});
        suite_.Kill(victim);
        ++outcome_.kills;
        StartLater(victim);
        break;
      }
      case 2:
      case 3:
      case 4:
        suite_.KillAtWrite("jobsvc", 1 + random.Uniform(6), random.OneIn(2));
        break;
      case 5:
        if (random.OneIn(2)) {
          const std::string_view victim = Pick(random, {"jobsvc", "jobsvc", "pgsvc"});
          suite_.Kill(victim);
          suite_.LoseDisk(victim);
          ++outcome_.kills;
          ++outcome_.lost_disks;
          StartLater(victim);
        }
        break;
      case 6:
        suite_.api().DropWatches();
        break;
      case 7:
        suite_.BreakGatewayConnections();
        break;
      case 8:
        AddFault("*", "", kubesim::FaultAction::kDropAnswer, 0, 3);
        outcome_.lost_answers += 3;
        break;
      case 9:
        AddFault("*", "", kubesim::FaultAction::kDropRequest, 0, 3);
        break;
      case 10:
        AddFault("*", "", kubesim::FaultAction::kAnswer, random.OneIn(2) ? 500 : 429, 3);
        break;
      case 11:
        suite_.api().ForgetHistory();
        if (random.OneIn(2)) suite_.api().Restart();
        break;
      case 12:
        AddFault("patch", "jobs/status", kubesim::FaultAction::kAnswer, 409, 1);
        break;
      default: {
        rpc::SimNetworkOptions network;
        network.max_delay = absl::Milliseconds(1 + random.Uniform(300));
        network.lose_request = random.OneIn(3) ? 0.05 : 0;
        network.lose_answer = random.OneIn(3) ? 0.05 : 0;
        network.break_stream = random.OneIn(3) ? 0.01 : 0;
        suite_.network().SetOptions(network);
        break;
      }
    }
  }

  void BuryTheDead() {
    for (const std::string& victim : suite_.Bury()) {
      ++outcome_.kills;
      if (suite_.random().OneIn(6)) {
        suite_.LoseDisk(victim);
        ++outcome_.lost_disks;
      }
      StartLater(victim);
    }
  }

  void Heal() {
    healed_ = true;
    suite_.api().faults().Clear();
    suite_.api().ReleaseWatches();
    suite_.network().SetOptions({});
    suite_.network().HealAll();
    suite_.Bury();
    for (const std::string_view program : {"gateway", "jobsvc", "pgsvc", "queuesvc"}) {
      suite_.KillAtWrite(program, 0, false);
      if (!suite_.IsRunning(program)) suite_.Start(program);
    }
  }

 private:
  void StartLater(std::string_view program) {
    suite_.time().RunAfter(absl::Milliseconds(suite_.random().Uniform(8000)), [this, program = std::string(program)] {
      if (!healed_ && !suite_.IsRunning(program)) {
        suite_.Bury();
        suite_.Start(program);
      }
    });
  }

  // Hits the gateway's requests and the actors' alike; the actors repeat theirs.
  void AddFault(std::string_view verb, std::string_view resource, kubesim::FaultAction action, int code, int count) {
    kubesim::FaultRule rule;
    rule.verb = verb;
    rule.resource = resource;
    rule.action = action;
    rule.code = code;
    rule.count = count;
    if (code == 429) rule.retry_after_seconds = 1;
    suite_.api().faults().Add(rule);
  }

  SimSuite& suite_;
  Outcome& outcome_;
  bool healed_ = false;
};

bool IsFinished(std::string_view phase) { return phase == "Completed" || phase == "Failed"; }

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
  for (PlannedJob& job : jobs) {
    suite.time().RunAfter(absl::Milliseconds(random.Uniform(20'000)), [&suite, &job] {
      job.uid = suite.CreateJob(job.manifest);
    });
    if (random.OneIn(6)) {
      job.deleted = true;
      suite.time().RunAfter(absl::Milliseconds(20'000 + random.Uniform(15'000)), [&suite, &job] {
        suite.DeleteObject(fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{}", job.name));
      });
    }
  }

  FaultPlan faults(suite, outcome);
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

  const auto all_over = [&] {
    return std::all_of(jobs.begin(), jobs.end(), [&](const PlannedJob& job) {
      const std::string phase = suite.JobPhase("default", job.name);
      return job.deleted ? phase.empty() : IsFinished(phase);
    });
  };
  const bool over = suite.time().AdvanceUntil(all_over, kQuietLimit);
  suite.time().Advance(kQuiet);
  if (!over) {
    for (const PlannedJob& job : jobs) {
      const std::string phase = suite.JobPhase("default", job.name);
      if (job.deleted ? !phase.empty() : !IsFinished(phase)) {
        outcome.violations.push_back(fmt::format("{} is {} and stays so", job.name, phase));
      }
    }
  }
  Judge(suite, jobs, outcome.violations);
  if (options.print) {
    for (const kubesim::LoggedRequest& request : suite.api().log()) {
      fmt::print("{} {} {} {} {}/{} {} {}{}{} {}\n", absl::FormatDuration(request.time - begin), request.user_agent,
                 request.verb, request.resource, request.ns, request.name, request.subresource, request.status,
                 request.dropped_request ? " request lost" : "", request.dropped_answer ? " answer lost" : "",
                 request.resource == "pods" && request.verb == "create" ? std::string() : ToText(request.body));
    }
  }
  outcome.trace = suite.TraceHash();
  outcome.simulated = suite.time().Now() - begin;
  outcome.steps = suite.time().steps();
  outcome.requests = suite.api().log().size();
  return outcome;
}

}  // namespace basalt::simulation
