#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gateway/lead/lease.h"
#include "tests/simulation/evictions.h"
#include "tests/simulation/faults/fault_plan.h"
#include "tests/simulation/faults/replacement.h"
#include "tests/simulation/faults/shutdowns.h"
#include "tests/simulation/judge/judge.h"
#include "tests/simulation/plain_workloads.h"
#include "tests/simulation/queue_forest.h"
#include "tests/simulation/quiet_shutdown.h"
#include "tests/simulation/story.h"

namespace basalt::simulation {
namespace {

constexpr std::string_view kNoUid = "00000000-0000-4000-8000-000000000000";
constexpr absl::Duration kFaultTime = absl::Seconds(60);
constexpr absl::Duration kQuietLimit = absl::Minutes(20);
// This is longer than a lost write with the longest back-off after it, and longer than the thirty seconds for which an
// empty group is kept. These thirty seconds begin anew with each process.
constexpr absl::Duration kQuiet = absl::Seconds(75);
// The last part of kQuiet, in which pgsvc and queuesvc must not write.
constexpr absl::Duration kIdle = absl::Seconds(15);

std::string PathOf(const PlannedJob& job) {
  return fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{}", job.name);
}

void Give(SimSuite& suite, const PlannedJob& job, PlannedCommand& command, Probes& probes) {
  const bool is_there = suite.JobOf(job.name, job.uid) != nullptr;
  // The user may not know yet that the job was replaced.
  if (!is_there && !job.replaced) return;
  if (!is_there) probes.Hit("command for a job made anew since");
  command.owned = is_there && !command.for_older;
  command.target = !command.for_older ? job.uid : job.older_uid.empty() ? std::string(kNoUid) : job.older_uid;
  if (const auto pod = suite.api().Get("pods", "default", command.pod); command.by_uid && pod != nullptr) {
    command.pod_uid = FindString(*Find(*pod, "metadata"), "uid");
  }
  command.uid = suite.CreateObject(CommandManifest(job, command));
}

bool HasFailedPod(SimSuite& suite, const PlannedJob& job) {
  return std::any_of(job.pods.begin(), job.pods.end(), [&](const std::string& name) {
    const auto pod = suite.api().Get("pods", "default", name);
    return pod != nullptr && FindString(*Find(*pod, "status"), "phase") == "Failed";
  });
}

// Skips a finished job: no invariant covers an edit of such a job.
void Scale(SimSuite& suite, const PlannedJob& job, const PlannedScaling& scaling, Probes& probes) {
  const std::string phase = suite.PhaseOf(job.name, job.uid);
  if (phase.empty() || IsFinishedPhase(phase)) return;
  const bool to_zero = std::all_of(scaling.replicas.begin(), scaling.replicas.end(), [](int n) { return n == 0; });
  probes.Hit(to_zero ? "scaled to zero" : "scaled");
  if (HasFailedPod(suite, job)) probes.Hit("scaled while a pod had failed");
  suite.PatchObject(PathOf(job), ScalingPatch(job, scaling));
}

void Submit(SimSuite& suite, PlannedJob& job, Probes& probes) {
  job.uid = suite.CreateObject(job.manifest);
  const absl::Time now = job.last_request = suite.time().Now();
  for (PlannedCommand& command : job.commands) {
    job.last_request = std::max(job.last_request, now + command.after);
    suite.time().RunAfter(command.after, [&suite, &job, &command, &probes] { Give(suite, job, command, probes); });
  }
  for (const PlannedScaling& scaling : job.scalings) {
    job.last_request = std::max(job.last_request, now + scaling.after);
    suite.time().RunAfter(scaling.after, [&suite, &job, &scaling, &probes] { Scale(suite, job, scaling, probes); });
  }
}

void SubmitLater(SimSuite& suite, PlannedJob& job, Probes& probes) {
  Random& random = suite.random();
  suite.time().RunAfter(absl::Milliseconds(random.Uniform(20'000)),
                        [&suite, &job, &probes] { Submit(suite, job, probes); });
  if (job.replaced || !random.OneIn(6)) return;
  job.deleted = true;
  suite.time().RunAfter(absl::Milliseconds(20'000 + random.Uniform(15'000)),
                        [&suite, &job] { suite.DeleteObject(PathOf(job)); });
}

// Returns true if the job is scaled to zero, so that its phase does not change any more.
bool IsScaledToZero(SimSuite& suite, const PlannedJob& job) {
  const auto stored = suite.JobOf(job.name, job.uid);
  if (stored == nullptr) return false;
  const json::array& tasks = FindPath(*stored, {"spec", "tasks"})->as_array();
  return std::all_of(tasks.begin(), tasks.end(),
                     [](const json::value& task) { return FindInt(task, "replicas") == 0; });
}

bool IsOver(SimSuite& suite, const PlannedJob& job) {
  const std::string phase = suite.PhaseOf(job.name, job.uid);
  if (job.deleted) return phase.empty();
  if (!IsFinishedPhase(phase) && suite.time().Now() < job.last_request) return false;
  if (IsLivePhase(phase)) return IsScaledToZero(suite, job);
  return IsFinishedPhase(phase) || std::find(job.ends.begin(), job.ends.end(), phase) != job.ends.end();
}

bool AreGrouped(SimSuite& suite) {
  std::vector<std::string> violations;
  JudgeWorkloads(suite, violations);
  return violations.empty();
}

void ReadLog(const kubesim::ApiServer& api, Probes& probes) {
  std::map<std::string, int64_t> versions;
  std::string leader;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.dropped_answer) probes.Hit("lost answer");
    if (request.resource == "leases" && Succeeded(request)) {
      const json::value* spec = Find(request.body, "spec");
      const std::string_view holder = spec == nullptr ? "" : FindString(*spec, "holderIdentity");
      const std::optional<gateway::Holder> gateway = gateway::ParseIdentity(holder);  // Nodes have Leases, too.
      if (gateway && !leader.empty() && gateway->replica != leader) probes.Hit("lead changed");
      if (gateway) leader = gateway->replica;
    }
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

// Returns a small number in most cases, so that a seed stays cheap. One replica is the most common.
int PickReplicas(Random& random) {
  const uint64_t of_hundred = random.Uniform(100);
  return of_hundred < 55 ? 1 : of_hundred < 78 ? 2 : of_hundred < 91 ? 3 : of_hundred < 96 ? 4 : kMostReplicas;
}

void PickShape(SimSuiteOptions& options) {
  SeededRandom random(options.seed * 2 + 1);
  for (int& replicas : options.replicas) replicas = PickReplicas(random);
  const uint64_t of_hundred = random.Uniform(100);
  options.gateways = of_hundred < 60 ? 1 : of_hundred < 88 ? 2 : 3;
  if (random.OneIn(2)) options.max_skew = absl::Minutes(5);
  if (random.OneIn(2)) options.max_drift = 0.001;
  if (random.OneIn(2)) {
    // The deletion of many pods takes longer than its request may, but ends before the end of the quiet time.
    options.collection_pause = absl::Milliseconds(1 + random.Uniform(400));
  }
  if (random.OneIn(2)) options.gc_delay = absl::Milliseconds(random.Uniform(3000));
}

}  // namespace

Outcome RunScenario(const ScenarioOptions& options) {
  Outcome outcome;
  SimSuiteOptions suite_options;
  suite_options.seed = options.seed;
  PickShape(suite_options);
  suite_options.workloads = PlainWorkloads::AreIn(options.seed);
  suite_options.is_rich = PlainWorkloads::AreRichIn(options.seed);
  suite_options.clocks_ahead = Evictions::ClocksIn(options.seed);
  SimSuite suite(suite_options);
  Random& random = suite.random();
  const absl::Time begin = suite.time().Now();
  suite.StartAll();
  if (suite_options.replicas != std::array<int, 3>{1, 1, 1}) outcome.probes.Hit("several replicas");

  std::vector<PlannedJob> jobs;
  const uint64_t count = 1 + random.Uniform(options.max_jobs);
  for (uint64_t i = 0; i < count; ++i) jobs.push_back(PlanJob(random, static_cast<int>(i)));
  const bool anew = random.OneIn(3);
  if (anew) {
    jobs.front().deleted = jobs.front().replaced = true;
    jobs.push_back(PlanJob(random, 0, /*anew=*/true));
  }
  for (PlannedJob& job : jobs) Evictions::Expect(options.seed, job);
  for (PlannedJob& job : jobs) {
    if (!anew || &job != &jobs.back()) SubmitLater(suite, job, outcome.probes);
  }
  if (std::any_of(jobs.begin(), jobs.end(), [](const PlannedJob& job) { return job.late_queue; })) {
    outcome.probes.Hit("queue missing at first");
    suite.time().RunAfter(absl::Milliseconds(5'000 + random.Uniform(40'000)), [&suite] {
      suite.CreateObject(fmt::format(
          R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"weight":1}}}})",
          kLateQueue));
    });
  }

  PlainWorkloads workloads(options.seed, suite, outcome.probes);
  if (suite_options.workloads) workloads.Begin();
  Evictions evictions(options.seed, suite, jobs, outcome.probes);
  if (Evictions::AreIn(options.seed)) evictions.Begin();
  const bool has_forest = QueueForest::IsIn(options.seed);
  QueueForest forest(options.seed, suite, outcome.probes);
  if (has_forest) forest.Begin();
  FaultPlan faults(suite, jobs, outcome.probes);
  if (options.faults) faults.Begin();
  Shutdowns shutdowns(options.seed, suite, faults, jobs, outcome.probes);
  const bool shuts_down = options.faults && options.shutdowns && Shutdowns::AreIn(options.seed);
  if (shuts_down) shutdowns.Begin();
  std::optional<Replacement> replacement;
  if (anew) {
    replacement.emplace(suite, jobs.front(), jobs.back(), options.faults ? &faults : nullptr, outcome.probes,
                        [&] { Submit(suite, jobs.back(), outcome.probes); });
    replacement->Begin();
  }
  const absl::Time faults_end = begin + kFaultTime;
  absl::Time next_fault = begin + absl::Milliseconds(random.Uniform(4000));
  while (suite.time().Now() < faults_end) {
    suite.time().Advance(absl::Milliseconds(50));
    if (!options.faults) continue;
    faults.Watch();
    if (suite.time().Now() >= next_fault) {
      faults.Step();
      next_fault = suite.time().Now() + absl::Milliseconds(200 + random.Uniform(5000));
    }
  }
  faults.Heal();
  shutdowns.Heal();

  bool over = false;
  const absl::Time limit = suite.time().Now() + kQuietLimit;
  while (!over && suite.time().Now() < limit) {
    suite.time().Advance(absl::Milliseconds(100));
    over = std::all_of(jobs.begin(), jobs.end(), [&](const PlannedJob& job) { return IsOver(suite, job); }) &&
           (!suite_options.workloads || AreGrouped(suite));
  }
  suite.time().Advance(kQuiet);
  if (suite_options.workloads) {
    JudgeWorkloads(suite, outcome.violations);
    JudgeGroupWriters(suite, suite.time().Now() - kIdle, outcome.violations, outcome.probes);
  }
  if (has_forest) JudgeQueues(suite, suite.time().Now() - kIdle, outcome.violations);
  for (const PlannedJob& job : jobs) {
    if (over || IsOver(suite, job)) continue;
    outcome.violations.push_back(fmt::format("{} is {} and stays so", job.name, suite.PhaseOf(job.name, job.uid)));
  }
  if (shuts_down && over) ShutDownInQuiet(suite, options.seed, outcome.violations, outcome.probes);
  Judge(suite, jobs, options.faults ? faults_end : begin, outcome.violations, outcome.probes);
  if (options.records_story) outcome.story = StoryOf(suite, jobs, begin);
  outcome.trace = suite.TraceHash();
  outcome.simulated = suite.time().Now() - begin;
  outcome.steps = suite.time().steps();
  outcome.requests = suite.api().log().size();
  for (const std::string& host : suite.Joined()) suite.Kill(host);
  for (const std::string& line : suite.denied()) {
    outcome.violations.push_back(fmt::format("a gateway refused what a replica needs: {}", line));
  }
  outcome.violations.insert(outcome.violations.end(), suite.overdue().begin(), suite.overdue().end());
  outcome.probes.Add(suite.probes());
  if (suite_options.gateways > 1) outcome.probes.Hit("several gateways");
  if (suite_options.max_skew > absl::ZeroDuration()) outcome.probes.Hit("clock skew");
  if (!suite_options.clocks_ahead.empty()) outcome.probes.Hit("clock of a node off");
  ReadLog(suite.api(), outcome.probes);
  return outcome;
}

}  // namespace basalt::simulation
