#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/manifest.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

using job::v1::JobService;

// A person who waits for a replica to come back waits this long.
constexpr int kReconnectTries = 60;
constexpr absl::Duration kReconnectPause = absl::Milliseconds(500);

struct JobFlags {
  std::string file;
  std::string name;
  std::string uid;
  std::string phase;
  std::string queue;
  bool dry_run = false;
  bool watch = false;
};

int64_t NowMs() { return absl::ToUnixMillis(absl::Now()); }

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Follows one job (or all of the namespace, with an empty name) until it is finished or the stream ends. On a terminal
// the picture is drawn anew in place; elsewhere each change is a line.
absl::StatusOr<kube::v1::JobPhase> Follow(JobClient& client, const GlobalOptions& options, const std::string& name,
                                          bool stop_when_finished) {
  const bool live = isatty(STDOUT_FILENO) != 0 && options.output.empty();
  job::v1::WatchJobsRequest request;
  if (!options.all_namespaces || !name.empty()) request.set_namespace_(options.ns);
  request.set_name(name);
  std::map<std::string, job::v1::Job> jobs;
  std::map<std::string, uint32_t> slots;     // Of the jobs: RESET takes them back by slot.
  ptrdiff_t drawn = 0;                       // Lines of the last picture.
  std::map<std::string, std::string> lines;  // The last that was printed of each job.
  BASALT_ASSIGN_OR_RETURN(auto* stub, client.Connect());
  int tries = 0;  // In a row that told nothing.
  while (true) {
    grpc::ClientContext context;
    auto stream = stub->WatchJobs(&context, request);
    job::v1::WatchJobsResponse change;
    while (stream->Read(&change)) {
      tries = 0;
      if (!change.token().empty()) request.set_token(change.token());
      const kube::v1::ObjectMeta& meta = change.job().object().meta();
      const std::string key = meta.namespace_() + "/" + meta.name();
      switch (change.type()) {
        case job::v1::WatchJobsResponse::TYPE_STATE:
          jobs[key] = change.job();
          slots[key] = change.slot();
          break;
        case job::v1::WatchJobsResponse::TYPE_DELETED:
          jobs.erase(key);
          if (stop_when_finished && meta.name() == name) {
            context.TryCancel();
            return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {} was deleted", key));
          }
          break;
        case job::v1::WatchJobsResponse::TYPE_RESET:
          // Its snapshot follows; what is not in it is gone.
          std::erase_if(jobs, [&](const auto& job) {
            return std::find(change.slots().begin(), change.slots().end(), slots[job.first]) != change.slots().end();
          });
          continue;
        default:
          continue;
      }
      if (!options.output.empty()) {
        Print(FormatMessage(change, options.output));
      } else if (live) {
        std::vector<job::v1::Job> rows;
        for (const auto& [unused, job] : jobs) rows.push_back(job);
        const std::string picture = FormatJobs(rows, options.all_namespaces, NowMs(), TerminalWidth());
        // Over the picture before; what stands above stays.
        Print((drawn == 0 ? std::string() : fmt::format("\x1b[{}A\x1b[J", drawn)) + picture);
        drawn = std::count(picture.begin(), picture.end(), '\n');
      } else if (change.type() == job::v1::WatchJobsResponse::TYPE_STATE) {
        // What changed may be nothing that the line tells.
        if (std::string line = FormatChange(change.job()); line != lines[key]) Print(lines[key] = std::move(line));
      }
      const kube::v1::JobPhase phase = change.job().object().status().phase();
      if (stop_when_finished && change.type() == job::v1::WatchJobsResponse::TYPE_STATE && IsFinished(phase)) {
        context.TryCancel();
        return phase;
      }
    }
    const absl::Status ended = FromGrpc(stream->Finish());
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    // The replica went away, or is starting: look for it, or for another, and resume by token.
    client.TryAnother();
    absl::StatusOr<job::v1::JobService::Stub*> again = ended;
    while (!again.ok()) {
      if (tries++ == kReconnectTries) return again.status();
      absl::SleepFor(kReconnectPause);
      again = client.Connect();
    }
    stub = *again;
  }
}

absl::StatusOr<int> Submit(const GlobalOptions& options, const JobFlags& flags) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<JobManifest> manifests, ReadJobManifests(flags.file));
  JobClient client(options.gateway);
  const auto submit = [&](const JobManifest& manifest, bool dry_run) -> absl::StatusOr<job::v1::Job> {
    job::v1::SubmitJobRequest request;
    request.set_manifest_json(manifest.json);
    // Without -n a manifest says itself where it belongs.
    if (options.ns_given || manifest.ns.empty()) request.set_namespace_(options.ns);
    request.set_dry_run(dry_run);
    job::v1::Job job;
    const auto send = [&](auto& stub, auto* context) { return stub.SubmitJob(context, request, &job); };
    BASALT_RETURN_IF_ERROR(Annotate(dry_run ? client.Ask(send) : client.Order(send), manifest.source));
    return job;
  };
  // All are checked before the first is sent, by the server too, so that nothing is half submitted.
  BASALT_RETURN_IF_ERROR(CheckDistinct(manifests, options.ns));
  for (const JobManifest& manifest : manifests) BASALT_RETURN_IF_ERROR(submit(manifest, /*dry_run=*/true).status());
  job::v1::Job last;
  for (const JobManifest& manifest : manifests) {
    BASALT_ASSIGN_OR_RETURN(last, submit(manifest, flags.dry_run));
    if (options.output.empty()) {
      Print(fmt::format("job {}/{} {}\n", last.object().meta().namespace_(), last.object().meta().name(),
                        flags.dry_run ? "is valid (dry run)" : "submitted"));
    } else {
      Print(FormatMessage(last, options.output));
    }
  }
  if (!flags.watch || flags.dry_run) return kExitDone;
  GlobalOptions follow = options;
  follow.ns = last.object().meta().namespace_();
  BASALT_ASSIGN_OR_RETURN(const kube::v1::JobPhase phase, Follow(client, follow, last.object().meta().name(), true));
  return phase == kube::v1::JOB_PHASE_COMPLETED ? kExitDone : kExitJobNotCompleted;
}

absl::StatusOr<int> List(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::ListJobsRequest request;
  if (!options.all_namespaces) request.set_namespace_(options.ns);
  request.set_queue(flags.queue);
  if (!flags.phase.empty()) {
    kube::v1::JobPhase phase = kube::v1::JOB_PHASE_UNSPECIFIED;
    for (int value = kube::v1::JobPhase_MIN; value <= kube::v1::JobPhase_MAX; ++value) {
      if (PhaseText(static_cast<kube::v1::JobPhase>(value)) == flags.phase)
        phase = static_cast<kube::v1::JobPhase>(value);
    }
    if (phase == kube::v1::JOB_PHASE_UNSPECIFIED) {
      return MakeStatus(absl::StatusCode::kInvalidArgument,
                        fmt::format("--phase: '{}' is no phase of a job", flags.phase));
    }
    request.add_phases(phase);
  }
  job::v1::ListJobsResponse all;
  do {
    job::v1::ListJobsResponse page;
    BASALT_RETURN_IF_ERROR(
        client.Ask([&](auto& stub, auto* context) { return stub.ListJobs(context, request, &page); }));
    all.mutable_jobs()->MergeFrom(page.jobs());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  if (!options.output.empty()) {
    Print(FormatMessage(all, options.output));
  } else if (all.jobs_size() == 0) {
    std::fprintf(stderr, "No jobs found%s\n",
                 options.all_namespaces ? "" : fmt::format(" in namespace {}", options.ns).c_str());
  } else {
    Print(FormatJobs({all.jobs().begin(), all.jobs().end()}, options.all_namespaces, NowMs(), TerminalWidth()));
  }
  return kExitDone;
}

absl::StatusOr<int> Get(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::GetJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  job::v1::Job job;
  BASALT_RETURN_IF_ERROR(client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); }));
  Print(options.output.empty() ? FormatJob(job, NowMs(), TerminalWidth()) : FormatMessage(job, options.output));
  return kExitDone;
}

absl::StatusOr<int> Watch(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const kube::v1::JobPhase phase, Follow(client, options, flags.name, !flags.name.empty()));
  return phase == kube::v1::JOB_PHASE_COMPLETED ? kExitDone : kExitJobNotCompleted;
}

absl::StatusOr<int> History(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::GetJobHistoryRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  job::v1::JobHistory history;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.GetJobHistory(context, request, &history); }));
  Print(options.output.empty() ? FormatHistory(history, TerminalWidth()) : FormatMessage(history, options.output));
  return kExitDone;
}

absl::StatusOr<int> Delete(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::DeleteJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  job::v1::DeleteJobResponse response;
  BASALT_RETURN_IF_ERROR(
      client.Order([&](auto& stub, auto* context) { return stub.DeleteJob(context, request, &response); }));
  Print(fmt::format("job {}/{} deleted\n", options.ns, flags.name));
  return kExitDone;
}

}  // namespace

void AddJobCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App* job = app.add_subcommand("job", "Batch jobs");
  job->require_subcommand(1);
  job->fallthrough();
  // Lives as long as the app, which the callbacks of its commands do not outlive.
  auto flags = std::make_shared<JobFlags>();
  using Command = absl::StatusOr<int> (*)(const GlobalOptions&, const JobFlags&);
  const auto add = [&, flags](const char* name, const char* help, Command command) {
    CLI::App* sub = job->add_subcommand(name, help);
    sub->fallthrough();
    sub->callback([&options, &exit_code, flags, command] {
      const absl::StatusOr<int> result = command(options, *flags);
      exit_code = result.ok() ? *result : Report(result.status());
    });
    return sub;
  };
  CLI::App* submit = add("submit", "Submit the jobs of a manifest", Submit);
  submit->add_option("-f,--filename", flags->file, "Manifest, YAML or JSON; - reads standard input")->required();
  submit->add_flag("--dry-run", flags->dry_run, "Default and validate only");
  submit->add_flag("-w,--watch", flags->watch, "Follow the (last) job until it is finished");
  CLI::App* list = add("list", "List jobs", List);
  list->add_option("--phase", flags->phase, "Only jobs in this phase");
  list->add_option("--queue", flags->queue, "Only jobs of this queue");
  add("get", "Show one job and its pods", Get)->add_option("name", flags->name, "Name of the job")->required();
  add("watch", "Follow one job until it is finished, or all jobs", Watch)
      ->add_option("name", flags->name, "Name of the job");
  CLI::App* history = add("history", "Every decision about a job", History);
  history->add_option("name", flags->name, "Name of the job")->required();
  history->add_option("--uid", flags->uid, "UID, for an older job of the same name");
  add("delete", "Delete a job and what it owns", Delete)
      ->add_option("name", flags->name, "Name of the job")
      ->required();
}

}  // namespace basalt::cli
