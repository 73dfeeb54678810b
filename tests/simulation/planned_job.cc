#include "tests/simulation/planned_job.h"

#include <fmt/format.h>

#include <cctype>

namespace basalt::simulation {
namespace {

JobKind PickKind(Random& random) {
  switch (random.Uniform(12)) {
    case 0:
    case 1:
    case 2:
      return JobKind::kOnEviction;
    case 3:
      return JobKind::kOnFailure;
    case 4:
      return JobKind::kRestarts;
    case 5:
      return JobKind::kOnTaskComplete;
    case 6:
      return JobKind::kSuspended;
    case 7:
      return JobKind::kTerminated;
    default:
      return JobKind::kPlain;
  }
}

std::string_view PoliciesOf(JobKind kind) {
  switch (kind) {
    case JobKind::kOnEviction:
      return R"("policies":[{"event":"PodEvicted","action":"TerminateJob"}],)";
    case JobKind::kOnFailure:
      return R"("policies":[{"event":"PodFailed","action":"TerminateJob"}],)";
    case JobKind::kRestarts:
      return R"("policies":[{"event":"PodFailed","action":"RestartJob"}],"maxRetry":2,)";
    case JobKind::kOnTaskComplete:
    case JobKind::kSuspended:
    case JobKind::kTerminated:
    case JobKind::kPlain:
      return "";
  }
  return "";
}

std::vector<std::string> EndsOf(JobKind kind, bool fails) {
  switch (kind) {
    case JobKind::kOnEviction:
      return {"Completed", "Terminated"};
    case JobKind::kOnFailure:
      return {"Terminated"};
    case JobKind::kRestarts:
      return {"Failed"};
    case JobKind::kOnTaskComplete:
    case JobKind::kSuspended:
      return {"Completed"};
    case JobKind::kTerminated:
      return {"Completed", "Terminated"};
    case JobKind::kPlain:
      break;
  }
  return {fails ? "Failed" : "Completed"};
}

std::vector<PlannedCommand> CommandsOf(JobKind kind, Random& random) {
  std::vector<PlannedCommand> commands;
  if (kind != JobKind::kSuspended && kind != JobKind::kTerminated) return commands;
  const absl::Duration first = absl::Milliseconds(random.Uniform(12'000));
  if (kind == JobKind::kTerminated) {
    commands.push_back({"TerminateJob", first, ""});
  } else {
    commands.push_back({"AbortJob", first, ""});
    commands.push_back({"ResumeJob", first + absl::Milliseconds(1 + random.Uniform(15'000)), ""});
  }
  return commands;
}

}  // namespace

PlannedJob PlanJob(Random& random, int number) {
  PlannedJob job;
  job.name = fmt::format("job-{}", number);
  job.kind = PickKind(random);
  job.commands = CommandsOf(job.kind, random);
  job.late_queue = random.OneIn(8);
  for (const std::string_view plugin : {"env", "svc", "ssh"}) {
    if (random.OneIn(2)) job.plugins.emplace_back(plugin);
  }
  const uint64_t tasks = (job.kind == JobKind::kOnTaskComplete ? 2 : 1) + random.Uniform(3);
  // With dependencies a gang of all would never start (weakness W33), so the gang is the first task alone. One success
  // is enough for such a gang, so that a failing task does not fail it for sure: none of its tasks fails.
  // Nor would the last retry of a restart, which keeps what has failed.
  bool depends = false;
  std::vector<bool> waits(tasks, false);
  for (uint64_t t = 1; t < tasks && job.kind == JobKind::kPlain; ++t) {
    waits[t] = random.OneIn(3);
    depends = depends || waits[t];
  }
  bool fails = false;
  std::string task_list;
  for (uint64_t t = 0; t < tasks; ++t) {
    const uint64_t replicas = 1 + random.Uniform(5);
    if (t == 0) job.first_task_replicas = static_cast<int>(replicas);
    const bool may_fail = job.kind == JobKind::kPlain && !depends && random.OneIn(8);
    const bool fails_here = may_fail || job.kind == JobKind::kRestarts || (job.kind == JobKind::kOnFailure && t == 0);
    fails = fails || fails_here;
    uint64_t seconds = 1 + random.Uniform(8);
    if (job.kind == JobKind::kOnEviction || !job.commands.empty()) seconds += 4;
    if (job.kind == JobKind::kOnTaskComplete && t > 0) seconds += 150;
    task_list += fmt::format(
        R"({}{{"name":"t{}","replicas":{},{}{}"template":{{"spec":{{"restartPolicy":"Never","containers":[)"
        R"({{"name":"c","image":"busybox","command":["sh","-c","sleep {}; exit {}"],)"
        R"("resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}})",
        t > 0 ? "," : "", t, replicas, waits[t] ? fmt::format(R"("dependsOn":{{"name":["t{}"]}},)", t - 1) : "",
        t == 0 && job.kind == JobKind::kOnTaskComplete
            ? R"("policies":[{"event":"TaskCompleted","action":"CompleteJob"}],)"
            : "",
        seconds, fails_here ? 3 : 0);
    for (uint64_t i = 0; i < replicas; ++i) job.pods.push_back(fmt::format("{}-t{}-{}", job.name, t, i));
  }
  std::string plugins;
  for (const std::string& plugin : job.plugins) {
    plugins += fmt::format(R"({}"{}":[])", plugins.empty() ? "" : ",", plugin);
  }
  job.manifest = fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"{}",{}{}"plugins":{{{}}},"tasks":[{}]}}}})",
      job.name, job.late_queue ? kLateQueue : "default", PoliciesOf(job.kind),
      depends || job.kind == JobKind::kRestarts ? R"("minAvailable":1,)" : "", plugins, task_list);
  job.ends = EndsOf(job.kind, fails);
  return job;
}

std::string CommandName(const PlannedJob& job, const PlannedCommand& command) {
  std::string name = fmt::format("{}-{}", job.name, command.action);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

std::string CommandManifest(const PlannedJob& job, const PlannedCommand& command) {
  const std::string target = fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"{}","uid":"{}","controller":true}})", job.name,
      job.uid);
  return fmt::format(
      R"({{"apiVersion":"bus.volcano.sh/v1alpha1","kind":"Command","metadata":{{"name":"{}","namespace":"default",)"
      R"("ownerReferences":[{}]}},"action":"{}","target":{}}})",
      CommandName(job, command), target, command.action, target);
}

bool IsFinishedPhase(std::string_view phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Terminated";
}

}  // namespace basalt::simulation
