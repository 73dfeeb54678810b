// basaltctl job suspend, resume, restart, terminate, complete, scale and wait.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/follow/follow.h"
#include "cli/verbs.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kDeleted = "Deleted";
constexpr std::string_view kJobsThereAre = "basaltctl job list tells the jobs that there are";

// Waits for the history entry of the decision that carried out the Command, refused it, or found nothing to do.
absl::StatusOr<job::v1::HistoryEntry> AwaitEntry(JobClient& client, const GlobalOptions& options, const Flags& flags,
                                                 const std::string& command) {
  auto request = About<job::v1::GetJobHistoryRequest>(options, flags);
  request.clear_uid();
  const std::string subject = fmt::format("command {}", command);
  job::v1::HistoryEntry found;
  const auto look = [&]() -> absl::StatusOr<bool> {
    const absl::StatusOr<job::v1::JobHistory> history = client.Ask(&JobStub::GetJobHistory, request);
    // NOT_FOUND is no end: a job that moves to another replica is there before its history is.
    if (!history.ok() && history.status().code() != absl::StatusCode::kNotFound) return history.status();
    const job::v1::JobHistory kept = history.value_or(job::v1::JobHistory());
    for (const job::v1::HistoryEntry& entry : kept.entries()) {
      const bool is_it = entry.subject() == subject || entry.subject().starts_with(subject + " ");
      if (!is_it || !entry.committed()) continue;
      found = entry;
      return true;
    }
    BASALT_ASSIGN_OR_RETURN(const job::v1::Job job,
                            client.Ask(&JobStub::GetJob, About<job::v1::GetJobRequest>(options, flags)));
    const std::string& uid = job.object().meta().uid();
    if (request.uid().empty()) request.set_uid(uid);
    if (request.uid() == uid) return false;
    return MakeStatus(absl::StatusCode::kNotFound,
                      fmt::format("job {}/{} with UID {} is gone; what became of command {} is in its history",
                                  options.ns, flags.name, request.uid(), command));
  };
  BASALT_RETURN_IF_ERROR(AwaitCommand(command, flags.timeout, "", look));
  return found;
}

// Prints the result of a command. A command that was refused is an error. A command that found nothing to do is
// printed as an error, too, like kubectl rollout pause of a paused object, with an exit code of its own.
absl::StatusOr<int> PrintResult(const GlobalOptions& options, const std::string& name,
                                const job::v1::HistoryEntry& entry) {
  using job::v1::HistoryEntry;
  const std::string job = kJob.Named(options, name);
  if (!options.output.empty()) Print(FormatMessage(entry, options.output));
  if (entry.result() == HistoryEntry::RESULT_REFUSED) {
    const bool of_a_part = entry.action().starts_with("Restart") && entry.action() != "RestartJob";
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("{}: {}; basaltctl job {} {} -n {} {}", job, entry.outcome(), of_a_part ? "restart" : "explain",
                    name, options.ns, of_a_part ? "restarts all of it" : "tells where it is"));
  }
  const std::string what = fmt::format("{}: {}: {}", job, entry.action(), entry.outcome());
  if (entry.result() == HistoryEntry::RESULT_NOTHING_TO_DO) {
    Report(MakeStatus(absl::StatusCode::kFailedPrecondition, what));
    return kExitNothingToDo;
  }
  if (options.output.empty()) PrintLine(what);
  return kExitDone;
}

absl::StatusOr<int> CommandJob(const GlobalOptions& options, const Flags& flags, std::string_view action) {
  JobClient client(options.gateway);
  auto request = About<job::v1::CommandJobRequest>(options, flags);
  request.set_action(std::string(action));
  request.set_task(flags.task);
  request.set_pod(flags.pod);
  if (flags.partition >= 0) request.set_partition(flags.partition);
  BASALT_ASSIGN_OR_RETURN(const std::string command,
                          SendCommand(kJob, client, &JobStub::CommandJob, std::move(request), options, flags,
                                      fmt::format("{}, job get NAME their tasks and pods", kJobsThereAre)));
  if (!flags.wait) return kExitDone;
  BASALT_ASSIGN_OR_RETURN(const job::v1::HistoryEntry entry, AwaitEntry(client, options, flags, command));
  return PrintResult(options, flags.name, entry);
}

// Returns the function of a command that carries out the action.
Verb::Run JobCommand(std::string_view action) {
  return [action](const GlobalOptions& options, const Flags& flags) { return CommandJob(options, flags, action); };
}

absl::StatusOr<int> Restart(const GlobalOptions& options, const Flags& flags) {
  if (!flags.pod.empty()) return CommandJob(options, flags, "RestartPod");
  if (flags.partition >= 0) return CommandJob(options, flags, "RestartPartition");
  return CommandJob(options, flags, flags.task.empty() ? "RestartJob" : "RestartTask");
}

constexpr int32_t kMostCount = std::numeric_limits<int32_t>::max();

// Parses a decimal number from 0 to kMostCount. Nullopt for any other text.
std::optional<int32_t> ParseCount(std::string_view text) {
  int32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0) return std::nullopt;
  return count;
}

// Parses "TASK=N". `what` names the flag or argument in the error.
absl::StatusOr<std::pair<std::string, int32_t>> ParseSize(std::string_view text, std::string_view what) {
  const size_t equals = text.rfind('=');
  const std::optional<int32_t> size = ParseCount(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  if (!size || equals == 0) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        fmt::format("{}: '{}' is not TASK=N, like worker=8, with N from 0 to {}", what, text, kMostCount));
  }
  return std::pair(std::string(text.substr(0, equals)), *size);
}

// Adds `task` to `tasks`. INVALID_ARGUMENT if the user has given the task twice. `what` names the flag or argument in
// the error.
absl::Status Once(std::vector<std::string>& tasks, const std::string& task, std::string_view what) {
  if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) {
    return Invalid(fmt::format("{}: task {} is given twice", what, task));
  }
  tasks.push_back(task);
  return absl::OkStatus();
}

// Returns the status. If it is NOT_FOUND although the job exists, a task is missing: the message gets the tasks that
// the job has.
absl::Status OrTasks(const absl::Status& status, JobClient& client, const GlobalOptions& options, const Flags& flags) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  const absl::StatusOr<job::v1::Job> job = client.Ask(&JobStub::GetJob, About<job::v1::GetJobRequest>(options, flags));
  std::vector<std::string> tasks;
  if (job.ok()) {
    for (const kube::v1::TaskSpec& task : job->object().spec().tasks()) tasks.push_back(task.name());
  }
  if (tasks.empty()) return OrLookAt(status, kJobsThereAre);
  return MakeStatus(status.code(), fmt::format("{}; it has {}", ToStd(status.message()), fmt::join(tasks, ", ")));
}

job::v1::TaskScale& ScaleOf(const std::string& task, job::v1::ScaleJobRequest& request) {
  for (job::v1::TaskScale& scale : *request.mutable_tasks()) {
    if (scale.task() == task) return scale;
  }
  job::v1::TaskScale& scale = *request.add_tasks();
  scale.set_task(task);
  return scale;
}

absl::StatusOr<int> Scale(const GlobalOptions& options, const Flags& flags) {
  if (flags.replicas.empty() && flags.task_min_available.empty() && !flags.min_available) {
    return Invalid("nothing is to change: give TASK=N, --min-available N or --task-min-available TASK=N");
  }
  auto request = About<job::v1::ScaleJobRequest>(options, flags);
  request.set_dry_run(flags.dry_run);
  std::vector<std::string> seen;
  for (const std::string& text : flags.replicas) {
    BASALT_ASSIGN_OR_RETURN(const auto size, ParseSize(text, "replicas"));
    BASALT_RETURN_IF_ERROR(Once(seen, size.first, "replicas"));
    ScaleOf(size.first, request).set_replicas(size.second);
  }
  seen.clear();
  for (const std::string& text : flags.task_min_available) {
    BASALT_ASSIGN_OR_RETURN(const auto size, ParseSize(text, "--task-min-available"));
    BASALT_RETURN_IF_ERROR(Once(seen, size.first, "--task-min-available"));
    ScaleOf(size.first, request).set_min_available(size.second);
  }
  if (flags.min_available) request.set_min_available(*flags.min_available);
  JobClient client(options.gateway);
  const absl::StatusOr<job::v1::Job> job = client.Order(&JobStub::ScaleJob, request);
  BASALT_RETURN_IF_ERROR(OrTasks(job.status(), client, options, flags));
  if (!options.output.empty()) {
    Print(FormatMessage(*job, options.output));
    return kExitDone;
  }
  std::string sizes;
  for (const kube::v1::TaskSpec& task : job->object().spec().tasks()) {
    sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", task.name(), task.replicas());
  }
  PrintLine(fmt::format("{}: {}{}", kJob.Named(options, flags.name), sizes, flags.dry_run ? " (dry run)" : ""));
  return kExitDone;
}

absl::StatusOr<int> Wait(const GlobalOptions& options, const Flags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "job wait"));
  BASALT_ASSIGN_OR_RETURN(const std::vector<kube::v1::JobPhase> phases, ParsePhases("--for", flags.phases, kDeleted));
  const bool for_deletion = std::find(flags.phases.begin(), flags.phases.end(), kDeleted) != flags.phases.end();
  BASALT_ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(flags.timeout));
  FollowOptions follow{.ns = options.ns,
                       .name = flags.name,
                       .awaited = fmt::format("{}", fmt::join(flags.phases, " or ")),
                       .must_exist = true,
                       .quiet = true,
                       .deadline = absl::Now() + timeout,
                       .timeout = flags.timeout};
  const auto reached = [&](kube::v1::JobPhase phase) {
    return std::find(phases.begin(), phases.end(), phase) != phases.end();
  };
  // A finished job stays finished: only its deletion is worth waiting for. An aborted job can be resumed.
  follow.until = [&](kube::v1::JobPhase phase) {
    const bool over = IsFinished(phase) && phase != kube::v1::JOB_PHASE_ABORTED;
    return reached(phase) || (over && !for_deletion);
  };
  JobClient client(options.gateway);
  const absl::StatusOr<kube::v1::JobPhase> phase =
      timeout == absl::ZeroDuration() ? LookOnce(client, follow) : Follow(client, follow);
  const std::string job = kJob.Named(options, flags.name);
  if (phase.status().code() == absl::StatusCode::kNotFound && for_deletion) {
    PrintLine(fmt::format("{} is gone", job));
    return kExitDone;
  }
  BASALT_RETURN_IF_ERROR(OrLookAt(phase.status(), kJobsThereAre));
  PrintLine(fmt::format("{} is {}", job, PhaseText(*phase)));
  return reached(*phase) ? kExitDone : kExitJobNotCompleted;
}

std::vector<Verb> Actions() {
  const CLI::Validator given([](const std::string& text) { return text.empty() ? "is empty" : std::string(); }, "NAME");
  const CLI::Validator whole(
      [](const std::string& text) {
        return ParseCount(text) ? std::string() : fmt::format("'{}' is no whole number from 0 to {}", text, kMostCount);
      },
      "");
  const Switch name = kJob.Name();
  const Switch uid = kJob.Uid();
  const Switch wait("--wait", &Flags::wait,
                    "Wait until the command has been carried out; exit code 4: there was nothing to do");
  const Switch timeout = CommandTimeout();
  return {
      Verb("suspend", "Abort a job: its pods go, and it can be resumed", JobCommand("AbortJob"),
           {name, uid, wait, timeout}),
      Verb("resume", "Let an aborted job run again", JobCommand("ResumeJob"), {name, uid, wait, timeout}),
      Verb("terminate", "End a job as Terminated", JobCommand("TerminateJob"), {name, uid, wait, timeout}),
      Verb("complete", "End a job as Completed", JobCommand("CompleteJob"), {name, uid, wait, timeout}),
      Verb("restart", "Restart a job, or a part of it", Restart,
           {name, uid, wait, timeout, Switch("--task", &Flags::task, "Only the pods of this task", {.checks = {given}}),
            Switch("--partition", &Flags::partition, "Only this partition of the task, from 0",
                   {.needs = "--task", .checks = {whole}}),
            Switch("--pod", &Flags::pod, "Only this pod", {.excludes = "--task", .checks = {given}})}),
      Verb("scale", "Change how many pods the tasks of a job have", Scale,
           {name, Switch("replicas", &Flags::replicas, "TASK=N, for each task that is to change"),
            Switch("--min-available", &Flags::min_available, "The job's minAvailable from now on", {.checks = {whole}}),
            Switch("--task-min-available", &Flags::task_min_available, "TASK=N: a task's minAvailable from now on"),
            Switch("--dry-run", &Flags::dry_run, "Check only; change nothing"), uid}),
      Verb("wait", "Wait until a job is in a phase", Wait,
           {name,
            Switch("--for", &Flags::phases, "Phases, comma separated, any of which will do, or Deleted",
                   {.required = true, .delimiter = ',', .type = PhaseSet(kDeleted)}),
            Switch("--timeout", &Flags::timeout,
                   "How long to wait at most, like 90s or 10m; 0s looks once; else for ever")}),
  };
}

}  // namespace

void AddJobActions(CLI::App& job, GlobalOptions& options, int& exit_code) {
  AddVerbs(job, options, exit_code, Actions());
}

}  // namespace basalt::cli
