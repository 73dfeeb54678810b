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
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kDeleted = "Deleted";
constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr char kPatience[] = "5m";  // The default of --timeout for a command.

struct ActionFlags {
  std::string name;
  std::string uid;
  std::string task;
  std::string pod;
  int partition = -1;
  std::vector<std::string> phases;
  std::string timeout;
  std::vector<std::string> replicas;  // TASK=N
  std::vector<std::string> task_min_available;
  std::optional<int> min_available;
  bool dry_run = false;
  bool wait = false;
};

absl::StatusOr<absl::Time> DeadlineOf(const std::string& timeout) {
  BASALT_ASSIGN_OR_RETURN(const absl::Duration duration, TimeoutOf(timeout));
  return absl::Now() + duration;
}

// Waits for the history entry of the decision that carried out the Command, refused it, or found nothing to do.
absl::StatusOr<job::v1::HistoryEntry> AwaitCommand(JobClient& client, const GlobalOptions& options,
                                                   const ActionFlags& flags, const std::string& command,
                                                   const std::string& timeout) {
  BASALT_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(timeout));
  job::v1::GetJobHistoryRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  job::v1::GetJobRequest look;
  look.set_namespace_(options.ns);
  look.set_name(flags.name);
  const std::string subject = fmt::format("command {}", command);
  while (true) {
    job::v1::JobHistory history;
    const absl::Status fetched =
        client.Ask([&](auto& stub, auto* context) { return stub.GetJobHistory(context, request, &history); });
    // NOT_FOUND is no end: a job that moves to another replica is there before its history is.
    if (!fetched.ok() && fetched.code() != absl::StatusCode::kNotFound) return fetched;
    for (const job::v1::HistoryEntry& entry : history.entries()) {
      const bool is_it = entry.subject() == subject || entry.subject().starts_with(subject + " ");
      if (is_it && entry.committed()) return entry;
    }
    job::v1::Job job;
    BASALT_RETURN_IF_ERROR(client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, look, &job); }));
    const std::string& uid = job.object().meta().uid();
    if (request.uid().empty()) request.set_uid(uid);
    if (request.uid() != uid) {
      return MakeStatus(absl::StatusCode::kNotFound,
                        fmt::format("job {}/{} with UID {} is gone; what became of command {} is in its history",
                                    options.ns, flags.name, request.uid(), command));
    }
    if (absl::Now() >= deadline) {
      return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                        fmt::format("command {} was not seen to be carried out within {}", command, timeout));
    }
    absl::SleepFor(std::clamp(deadline - absl::Now(), absl::ZeroDuration(), kLook));
  }
}

// Prints the result of a command. A command that was refused is an error. A command that found nothing to do is
// printed as an error, too, like kubectl rollout pause of a paused object, with an exit code of its own.
absl::StatusOr<int> PrintResult(const GlobalOptions& options, const std::string& name,
                                const job::v1::HistoryEntry& entry) {
  using job::v1::HistoryEntry;
  const std::string job = fmt::format("job {}/{}", options.ns, name);
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

absl::StatusOr<int> Command(const GlobalOptions& options, const ActionFlags& flags, std::string_view action) {
  const std::string timeout = flags.timeout.empty() ? kPatience : flags.timeout;
  BASALT_RETURN_IF_ERROR(DeadlineOf(timeout).status());
  JobClient client(options.gateway);
  SystemRandom random;
  job::v1::CommandJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  request.set_action(std::string(action));
  request.set_task(flags.task);
  request.set_pod(flags.pod);
  if (flags.partition >= 0) request.set_partition(flags.partition);
  request.set_request_id(MakeUuid(random));
  job::v1::CommandJobResponse response;
  const auto order = [&](auto& stub, auto* context) { return stub.CommandJob(context, request, &response); };
  BASALT_RETURN_IF_ERROR(OrLookAt(
      client.Order(order), "basaltctl job list tells the jobs that there are, job get NAME their tasks and pods"));
  if (options.output.empty()) {
    PrintLine(fmt::format("job {}/{}: {} asked for (command {})", options.ns, flags.name, action, response.command()));
  } else if (!flags.wait) {
    Print(FormatMessage(response, options.output));
  }
  if (!flags.wait) return kExitDone;
  BASALT_ASSIGN_OR_RETURN(const job::v1::HistoryEntry entry,
                          AwaitCommand(client, options, flags, response.command(), timeout));
  return PrintResult(options, flags.name, entry);
}

absl::StatusOr<int> Restart(const GlobalOptions& options, const ActionFlags& flags) {
  if (!flags.pod.empty()) return Command(options, flags, "RestartPod");
  if (flags.partition >= 0) return Command(options, flags, "RestartPartition");
  return Command(options, flags, flags.task.empty() ? "RestartJob" : "RestartTask");
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
absl::Status OrTasks(const absl::Status& status, JobClient& client, const GlobalOptions& options,
                     const std::string& name) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  job::v1::GetJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(name);
  job::v1::Job job;
  const absl::Status there = client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); });
  std::vector<std::string> tasks;
  for (const kube::v1::TaskSpec& task : job.object().spec().tasks()) tasks.push_back(task.name());
  if (!there.ok() || tasks.empty()) return OrLookAt(status, "basaltctl job list tells the jobs that there are");
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

absl::StatusOr<int> Scale(const GlobalOptions& options, const ActionFlags& flags) {
  if (flags.replicas.empty() && flags.task_min_available.empty() && !flags.min_available) {
    return Invalid("nothing is to change: give TASK=N, --min-available N or --task-min-available TASK=N");
  }
  job::v1::ScaleJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_uid(flags.uid);
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
  job::v1::Job job;
  const auto order = [&](auto& stub, auto* context) { return stub.ScaleJob(context, request, &job); };
  BASALT_RETURN_IF_ERROR(OrTasks(client.Order(order), client, options, flags.name));
  if (!options.output.empty()) {
    Print(FormatMessage(job, options.output));
    return kExitDone;
  }
  std::string sizes;
  for (const kube::v1::TaskSpec& task : job.object().spec().tasks()) {
    sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", task.name(), task.replicas());
  }
  PrintLine(fmt::format("job {}/{}: {}{}", options.ns, flags.name, sizes, flags.dry_run ? " (dry run)" : ""));
  return kExitDone;
}

absl::StatusOr<int> Wait(const GlobalOptions& options, const ActionFlags& flags) {
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
  const std::string job = fmt::format("job {}/{}", options.ns, flags.name);
  if (phase.status().code() == absl::StatusCode::kNotFound && for_deletion) {
    PrintLine(fmt::format("{} is gone", job));
    return kExitDone;
  }
  BASALT_RETURN_IF_ERROR(OrLookAt(phase.status(), "basaltctl job list tells the jobs that there are"));
  PrintLine(fmt::format("{} is {}", job, PhaseText(*phase)));
  return reached(*phase) ? kExitDone : kExitJobNotCompleted;
}

}  // namespace

void AddJobActions(CLI::App& job, GlobalOptions& options, int& exit_code) {
  const Commands<ActionFlags> actions(job, options, exit_code);
  ActionFlags& flags = actions.flags();
  const auto add = [&actions, &flags](const char* name, const char* help, Commands<ActionFlags>::Run run) {
    CLI::App* sub = actions.Add(name, help, std::move(run));
    sub->add_option("name", flags.name, "Name of the job")->required();
    return sub;
  };
  const auto with_command_flags = [&flags](CLI::App* sub) {
    sub->add_option("--uid", flags.uid, "Only if the job has this UID");
    CLI::Option* wait = sub->add_flag(
        "--wait", flags.wait, "Wait until the command has been carried out; exit code 4: there was nothing to do");
    sub->add_option("--timeout", flags.timeout, "How long to wait at most, like 90s or 10m; else 5m")->needs(wait);
    return sub;
  };
  const auto command = [&](const char* name, const char* help, std::string_view action) {
    CLI::App* sub = add(name, help, [action](const GlobalOptions& global, const ActionFlags& given) {
      return Command(global, given, action);
    });
    return with_command_flags(sub);
  };
  command("suspend", "Abort a job: its pods go, and it can be resumed", "AbortJob");
  command("resume", "Let an aborted job run again", "ResumeJob");
  command("terminate", "End a job as Terminated", "TerminateJob");
  command("complete", "End a job as Completed", "CompleteJob");
  CLI::App* restart = with_command_flags(add("restart", "Restart a job, or a part of it", Restart));
  const CLI::Validator given([](const std::string& text) { return text.empty() ? "is empty" : std::string(); }, "NAME");
  const CLI::Validator whole(
      [](const std::string& text) {
        return ParseCount(text) ? std::string() : fmt::format("'{}' is no whole number from 0 to {}", text, kMostCount);
      },
      "");
  CLI::Option* task = restart->add_option("--task", flags.task, "Only the pods of this task")->check(given);
  restart->add_option("--partition", flags.partition, "Only this partition of the task, from 0")
      ->check(whole)
      ->needs(task);
  restart->add_option("--pod", flags.pod, "Only this pod")->check(given)->excludes(task);
  CLI::App* scale = add("scale", "Change how many pods the tasks of a job have", Scale);
  scale->add_option("replicas", flags.replicas, "TASK=N, for each task that is to change");
  scale->add_option("--min-available", flags.min_available, "The job's minAvailable from now on")->check(whole);
  scale->add_option("--task-min-available", flags.task_min_available, "TASK=N: a task's minAvailable from now on");
  scale->add_flag("--dry-run", flags.dry_run, "Check only; change nothing");
  scale->add_option("--uid", flags.uid, "Only if the job has this UID");
  CLI::App* wait = add("wait", "Wait until a job is in a phase", Wait);
  wait->add_option("--for", flags.phases, "Phases, comma separated, any of which will do, or Deleted")
      ->delimiter(',')
      ->type_name(PhaseSet(kDeleted))
      ->required();
  wait->add_option("--timeout", flags.timeout,
                   "How long to wait at most, like 90s or 10m; 0s looks once; else for ever");
}

}  // namespace basalt::cli
