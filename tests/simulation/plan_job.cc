// Plans random jobs, and the phases in which each may end.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "tests/simulation/planned_job.h"

namespace basalt::simulation {
namespace {

constexpr uint64_t kLong = 150;  // Seconds.

JobKind PickKind(Random& random) {
  constexpr JobKind kKinds[] = {JobKind::kPlain,           JobKind::kPlain,
                                JobKind::kPlain,           JobKind::kOnEviction,
                                JobKind::kOnEviction,      JobKind::kOnFailure,
                                JobKind::kOnFailure,       JobKind::kRestarts,
                                JobKind::kRestarts,        JobKind::kOnTaskComplete,
                                JobKind::kSuspended,       JobKind::kTerminated,
                                JobKind::kStuck,           JobKind::kStartsInTime,
                                JobKind::kOnEvictionLater, JobKind::kOnEvictionLater,
                                JobKind::kOnFailureLater,  JobKind::kOnTaskCompleteLater,
                                JobKind::kRestartsParts,   JobKind::kAbortedOnFailure,
                                JobKind::kCommanded,       JobKind::kCommanded,
                                JobKind::kScaled,          JobKind::kScaled};
  return kKinds[random.Uniform(std::size(kKinds))];
}

std::string Pick(Random& random, std::initializer_list<std::string_view> of) {
  return std::string(*(of.begin() + random.Uniform(of.size())));
}

absl::Duration Between(Random& random, int64_t least_ms, int64_t most_ms) {
  return absl::Milliseconds(least_ms + static_cast<int64_t>(random.Uniform(static_cast<uint64_t>(most_ms - least_ms))));
}

// Returns the phase in which a job stays if the action is carried out again and again.
std::string EndOf(std::string_view action) {
  if (action == "TerminateJob") return "Terminated";
  if (action == "CompleteJob") return "Completed";
  if (action == "AbortJob") return "Aborted";
  return "Failed";  // The action restarts, until maxRetry is used up.
}

bool IsRestart(std::string_view action) { return action.starts_with("Restart"); }

// Returns a policy of the job or of the first task for a pod that fails.
PlannedPolicy OnFailure(Random& random, std::string action) {
  PlannedPolicy policy;
  policy.task = random.OneIn(2) ? 0 : -1;
  if (random.OneIn(2)) {
    policy.exit_code = 3;
  } else {
    policy.event = "PodFailed";
  }
  policy.action = std::move(action);
  return policy;
}

class Planner {
 public:
  Planner(Random& random, PlannedJob& job) : random_(random), job_(job) {}

  void Plan() {
    PlanTasks();
    switch (job_.kind) {
      case JobKind::kPlain:
        return PlanPlain();
      case JobKind::kOnEviction:
        Add({.event = "PodEvicted", .action = "TerminateJob"});
        job_.ends = {"Completed", "Terminated"};
        return;
      case JobKind::kOnFailure:
        Add({.event = "PodFailed", .action = "TerminateJob"});
        job_.tasks[0].exit_code = 3;
        job_.ends = {"Terminated"};
        return;
      case JobKind::kRestarts:
        Add({.event = "PodFailed", .action = "RestartJob"});
        for (PlannedTask& task : job_.tasks) task.exit_code = 3;
        job_.max_retry = 2;
        // The last retry keeps failed pods, so that a gang of all pods would never start again.
        job_.min_available = 1;
        job_.ends = {"Failed"};
        return;
      case JobKind::kOnTaskComplete:
        Add({.task = 0, .event = "TaskCompleted", .action = "CompleteJob"});
        job_.ends = {"Completed"};
        return;
      case JobKind::kSuspended:
        job_.commands.push_back({.action = "AbortJob", .after = Between(random_, 0, 12'000)});
        job_.commands.push_back({.action = "ResumeJob", .after = job_.commands[0].after + Between(random_, 1, 15'000)});
        job_.ends = {"Completed"};
        return;
      case JobKind::kTerminated:
        job_.commands.push_back({.action = "TerminateJob", .after = Between(random_, 0, 12'000)});
        job_.ends = {"Completed", "Terminated"};
        return;
      case JobKind::kStuck:
        return PlanStuck();
      case JobKind::kStartsInTime:
        Add({.event = "PodPending", .action = "TerminateJob", .timeout = Between(random_, 70'000, 100'000)});
        job_.ends = {"Completed"};
        return;
      case JobKind::kOnEvictionLater:
        return PlanOnEvictionLater();
      case JobKind::kOnFailureLater:
        return PlanOnFailureLater();
      case JobKind::kOnTaskCompleteLater:
        return PlanOnTaskCompleteLater();
      case JobKind::kRestartsParts:
        job_.tasks[0].exit_code = 3;
        Add(OnFailure(random_, Pick(random_, {"RestartPod", "RestartTask"})));
        job_.max_retry = 1 + static_cast<int>(random_.Uniform(3));
        job_.ends = {"Failed"};
        return;
      case JobKind::kAbortedOnFailure:
        return PlanAbortedOnFailure();
      case JobKind::kCommanded:
        return PlanCommanded();
      case JobKind::kScaled:
        return PlanScaled();
    }
  }

 private:
  void Add(PlannedPolicy policy) { job_.policies.push_back(std::move(policy)); }

  void PlanTasks() {
    const JobKind kind = job_.kind;
    const bool has_long = kind == JobKind::kOnTaskComplete || kind == JobKind::kOnTaskCompleteLater ||
                          kind == JobKind::kOnFailureLater || kind == JobKind::kRestartsParts;
    const bool takes_long = kind == JobKind::kOnEviction || kind == JobKind::kOnEvictionLater ||
                            kind == JobKind::kSuspended || kind == JobKind::kTerminated ||
                            kind == JobKind::kAbortedOnFailure || kind == JobKind::kCommanded;
    const uint64_t count = (has_long ? 2 : 1) + random_.Uniform(3);
    for (uint64_t t = 0; t < count; ++t) {
      PlannedTask task;
      task.replicas = task.most = 1 + static_cast<int>(random_.Uniform(5));
      task.seconds = 1 + random_.Uniform(8);
      if (takes_long) task.seconds += 4;
      if ((has_long && t > 0) || kind == JobKind::kStartsInTime) task.seconds += kLong;
      job_.tasks.push_back(task);
    }
  }

  // With dependencies, the gang is all pods, and the pods of the first tasks have to start alone (weakness W33). No
  // task fails then, because a failed task would keep the next ones from starting.
  void PlanPlain() {
    bool depends = false;
    for (size_t t = 1; t < job_.tasks.size(); ++t) {
      job_.tasks[t].waits = random_.OneIn(3);
      depends = depends || job_.tasks[t].waits;
    }
    bool fails = false;
    for (PlannedTask& task : job_.tasks) {
      if (depends || !random_.OneIn(8)) continue;
      task.exit_code = 3;
      fails = true;
    }
    job_.ends = {fails ? "Failed" : "Completed"};
  }

  void PlanStuck() {
    job_.tasks[random_.Uniform(job_.tasks.size())].fits = false;
    PlannedPolicy policy{.event = "PodPending", .timeout = Between(random_, 1'000, 20'000)};
    policy.action =
        Pick(random_, {"TerminateJob", "AbortJob", "CompleteJob", "RestartJob", "RestartTask", "RestartPod"});
    job_.max_retry = 1 + static_cast<int>(random_.Uniform(3));
    job_.ends = {EndOf(policy.action)};
    Add(std::move(policy));
  }

  void PlanOnEvictionLater() {
    PlannedPolicy policy{.event = "PodEvicted"};
    policy.timeout = random_.OneIn(3) ? Between(random_, 2'000, 20'000) : Between(random_, 10, 2'000);
    policy.action = Pick(random_, {"TerminateJob", "RestartJob", "RestartTask", "RestartPod"});
    for (PlannedTask& task : job_.tasks) task.seconds += 10;
    job_.max_retry = 50;
    job_.ends = {"Completed"};
    if (!IsRestart(policy.action)) job_.ends.push_back(EndOf(policy.action));
    Add(std::move(policy));
  }

  void PlanOnFailureLater() {
    job_.tasks[0].exit_code = 3;
    PlannedPolicy policy = OnFailure(
        random_, Pick(random_, {"TerminateJob", "AbortJob", "CompleteJob", "RestartJob", "RestartTask", "RestartPod"}));
    policy.timeout = Between(random_, 500, 15'000);
    job_.max_retry = 1 + static_cast<int>(random_.Uniform(3));
    if (policy.action == "RestartJob") job_.min_available = 1;  // The reason is that of kRestarts.
    job_.ends = {EndOf(policy.action)};
    Add(std::move(policy));
  }

  void PlanOnTaskCompleteLater() {
    PlannedPolicy policy{.task = 0, .event = "TaskCompleted", .timeout = Between(random_, 500, 15'000)};
    policy.action = Pick(random_, {"TerminateJob", "AbortJob", "CompleteJob", "RestartTask", "RestartTask"});
    job_.max_retry = 1 + static_cast<int>(random_.Uniform(3));
    job_.ends = {EndOf(policy.action)};
    Add(std::move(policy));
  }

  // Failed pods stay and belong to no gang. With a minimum of one, a single success is enough.
  void PlanAbortedOnFailure() {
    job_.tasks.resize(1);
    job_.tasks.push_back({.replicas = 2, .most = 2, .seconds = 5 + random_.Uniform(8)});
    job_.tasks[0].exit_code = 3;
    job_.tasks[0].replicas = job_.tasks[0].most = 1 + static_cast<int>(random_.Uniform(2));
    job_.min_available = 1;
    PlannedPolicy policy = OnFailure(random_, "AbortJob");
    if (random_.OneIn(3)) policy.timeout = Between(random_, 500, 5'000);
    Add(std::move(policy));
    absl::Duration after;
    for (uint64_t resumes = 1 + random_.Uniform(3); resumes > 0; --resumes) {
      after += Between(random_, 8'000, 20'000);
      job_.commands.push_back({.action = "ResumeJob", .after = after});
    }
    // The job completes if its other pods succeeded before an abort or after a resume.
    job_.ends = {"Aborted", "Completed"};
  }

  void PlanCommanded() {
    job_.max_retry = 50;
    for (PlannedTask& task : job_.tasks) task.seconds += 10;
    absl::Duration after = Between(random_, 0, 12'000);
    for (uint64_t left = 1 + random_.Uniform(4); left > 0; --left) {
      PlannedCommand command;
      command.after = after;
      command.action =
          Pick(random_, {"RestartPod", "RestartPod", "RestartTask", "RestartTask", "RestartJob", "Explode"});
      // Some commands name a task or a pod that does not exist.
      const auto task = random_.Uniform(job_.tasks.size() + (random_.OneIn(4) ? 1 : 0));
      if (!random_.OneIn(6)) command.task = fmt::format("t{}", task);
      if (command.action == "RestartPod" && !random_.OneIn(6)) {
        const int replicas = task < job_.tasks.size() ? job_.tasks[task].replicas : 1;
        command.pod = fmt::format("{}-t{}-{}", job_.name, task, random_.Uniform(static_cast<uint64_t>(replicas)));
        command.by_uid = random_.OneIn(3);
      }
      if (random_.OneIn(5)) {
        command = {.action = Pick(random_, {"AbortJob", "TerminateJob"}), .after = after, .for_older = true};
      }
      job_.commands.push_back(command);
      after += Between(random_, 0, 6'000);
    }
    job_.ends = {"Completed"};
  }

  void PlanScaled() {
    job_.ends = {"Completed"};
    const bool fails = random_.OneIn(2);
    if (random_.OneIn(2)) {
      // A RestartJob that comes during the last restart keeps failed pods, so that the gang waits for ever.
      Add({.event = "PodEvicted", .action = fails ? "TerminateJob" : Pick(random_, {"TerminateJob", "RestartJob"})});
      if (job_.policies.back().action == "TerminateJob") job_.ends.push_back("Terminated");
      job_.max_retry = 50;
    }
    if (fails) {
      job_.tasks[0].exit_code = 3;
      Add(OnFailure(random_, Pick(random_, {"RestartPod", "RestartTask"})));
      std::stable_sort(job_.policies.begin(), job_.policies.end(),
                       [](const PlannedPolicy& a, const PlannedPolicy& b) { return a.task > b.task; });
      job_.max_retry = 6;
      job_.ends.push_back("Failed");
    }
    for (PlannedTask& task : job_.tasks) task.seconds += fails && &task == &job_.tasks[0] ? 2 : 15;
    job_.min_available = 0;
    for (const PlannedTask& task : job_.tasks) job_.min_available += task.replicas;
    absl::Duration after;
    const uint64_t edits = 2 + random_.Uniform(4);
    int total = 0;
    for (uint64_t i = 0; i < edits; ++i) {
      PlannedScaling scaling;
      after += Between(random_, 500, 9'000);
      scaling.after = after;
      total = 0;
      const bool to_zero = random_.OneIn(6);
      for (PlannedTask& task : job_.tasks) {
        const int replicas = to_zero ? 0 : static_cast<int>(random_.Uniform(6));
        scaling.replicas.push_back(replicas);
        task.most = std::max(task.most, replicas);
        total += replicas;
      }
      scaling.min_available =
          random_.OneIn(3) && total > 0 ? 1 + static_cast<int>(random_.Uniform(static_cast<uint64_t>(total))) : total;
      job_.scalings.push_back(std::move(scaling));
    }
    // A job that is scaled to zero stays in its phase.
    if (total == 0) job_.ends.insert(job_.ends.end(), {"Pending", "Running", "Restarting"});
  }

  Random& random_;
  PlannedJob& job_;
};

}  // namespace

PlannedJob PlanJob(Random& random, int number, bool anew) {
  PlannedJob job;
  job.name = fmt::format("job-{}", number);
  job.kind = PickKind(random);
  for (const std::string_view plugin : {"env", "svc", "ssh"}) {
    if (random.OneIn(2)) job.plugins.emplace_back(plugin);
  }
  job.late_queue = random.OneIn(8) && job.kind != JobKind::kStartsInTime;
  Planner(random, job).Plan();
  for (size_t i = 0; i < job.commands.size(); ++i) job.commands[i].number = static_cast<int>(i) + (anew ? 100 : 0);
  for (size_t t = 0; t < job.tasks.size(); ++t) {
    for (int i = 0; i < job.tasks[t].most; ++i) job.pods.push_back(fmt::format("{}-t{}-{}", job.name, t, i));
  }
  job.manifest = JobManifest(job);
  return job;
}

}  // namespace basalt::simulation
