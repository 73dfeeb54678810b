#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/follow/follow.h"
#include "cli/manifest.h"
#include "cli/verbs.h"
#include "cli/view/explain_view.h"
#include "cli/view/job_detail.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// Returns the status. The message of NOT_FOUND advises `job history` if there is a history of the job, else `job list`.
absl::Status OrHistory(const absl::Status& status, JobClient& client, const GlobalOptions& options,
                       const Flags& flags) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  const absl::StatusOr<job::v1::JobHistory> history =
      client.Ask(&JobStub::GetJobHistory, About<job::v1::GetJobHistoryRequest>(options, flags));
  const bool is_kept = history.ok() && !history->entries().empty();
  return is_kept ? kJob.OrHistory(status, options, flags.name) : kJob.OrList(status, options);
}

absl::StatusOr<std::vector<JobManifest>> ReadAll(const std::vector<std::string>& files) {
  if (std::count(files.begin(), files.end(), "-") > 1) {
    return Invalid("-f -: standard input can be read once");
  }
  std::vector<JobManifest> all;
  for (const std::string& file : files) {
    BASALT_ASSIGN_OR_RETURN(std::vector<JobManifest> manifests, ReadJobManifests(file));
    std::move(manifests.begin(), manifests.end(), std::back_inserter(all));
  }
  return all;
}

absl::StatusOr<int> Submit(const GlobalOptions& options, const Flags& flags) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<JobManifest> manifests, ReadAll(flags.files));
  JobClient client(options.gateway);
  const auto submit = [&](const JobManifest& manifest, bool dry_run) -> absl::StatusOr<job::v1::Job> {
    job::v1::SubmitJobRequest request;
    request.set_manifest_json(manifest.json);
    // -n overrides the namespace of a manifest.
    if (options.ns_given || manifest.ns.empty()) request.set_namespace_(options.ns);
    request.set_dry_run(dry_run);
    absl::StatusOr<job::v1::Job> job =
        dry_run ? client.Ask(&JobStub::SubmitJob, request) : client.Order(&JobStub::SubmitJob, request);
    BASALT_RETURN_IF_ERROR(AnnotateLines(job.status(), manifest.source));
    return job;
  };
  // The server checks all jobs (dry run) before the first is submitted, so that a file is not submitted in part.
  BASALT_RETURN_IF_ERROR(CheckDistinct(manifests, options.ns));
  for (const JobManifest& manifest : manifests) BASALT_RETURN_IF_ERROR(submit(manifest, /*dry_run=*/true).status());
  job::v1::Job last;
  for (const JobManifest& manifest : manifests) {
    BASALT_ASSIGN_OR_RETURN(last, submit(manifest, flags.dry_run));
    std::fputs(FormatWarnings(manifest.source, last).c_str(), stderr);
    if (options.output.empty()) {
      PrintLine(fmt::format("job {}/{} {}", last.object().meta().namespace_(), last.object().meta().name(),
                            flags.dry_run ? "is valid (dry run)" : "submitted"));
    } else {
      Print(manifests.size() == 1 ? FormatMessage(last, options.output) : FormatDocument(last, options.output));
    }
  }
  if (!flags.watch || flags.dry_run) return kExitDone;
  const kube::v1::ObjectMeta& meta = last.object().meta();
  BASALT_ASSIGN_OR_RETURN(const kube::v1::JobPhase phase, Follow(client, {.ns = meta.namespace_(),
                                                                          .name = meta.name(),
                                                                          .uid = meta.uid(),
                                                                          .version = meta.resource_version(),
                                                                          .until = IsFinished,
                                                                          .output = options.output}));
  return phase == kube::v1::JOB_PHASE_COMPLETED ? kExitDone : kExitJobNotCompleted;
}

absl::StatusOr<int> ListJobs(const GlobalOptions& options, const Flags& flags) {
  JobClient client(options.gateway);
  job::v1::ListJobsRequest request;
  if (!options.all_namespaces) request.set_namespace_(options.ns);
  request.set_queue(flags.queue);
  request.set_label_selector(flags.selector);
  BASALT_ASSIGN_OR_RETURN(const std::vector<kube::v1::JobPhase> phases, ParsePhases("--phase", flags.phases));
  request.mutable_phases()->Assign(phases.begin(), phases.end());
  BASALT_ASSIGN_OR_RETURN(const auto all, AskAllPages<job::v1::ListJobsResponse>(client, request, &JobStub::ListJobs));
  return ShowList(options, all, all.jobs().empty(), "jobs", [&] {
    return FormatJobs({all.jobs().pointer_begin(), all.jobs().pointer_end()}, options.all_namespaces,
                      absl::ToUnixMillis(absl::Now()), StandardLook());
  });
}

absl::StatusOr<int> GetJob(const GlobalOptions& options, const Flags& flags) {
  JobClient client(options.gateway);
  const absl::StatusOr<job::v1::Job> job = client.Ask(&JobStub::GetJob, About<job::v1::GetJobRequest>(options, flags));
  BASALT_RETURN_IF_ERROR(OrHistory(job.status(), client, options, flags));
  return Show(options, *job, [&] {
    auto request = About<job::v1::GetJobHistoryRequest>(options, flags);
    request.set_uid(job->object().meta().uid());
    // The job is printed even if its history cannot be fetched.
    const auto history = client.Ask(&JobStub::GetJobHistory, request).value_or(job::v1::JobHistory());
    return FormatJob(*job, history, absl::ToUnixMillis(absl::Now()), StandardLook());
  });
}

absl::StatusOr<int> WatchJobs(const GlobalOptions& options, const Flags& flags) {
  JobClient client(options.gateway);
  const bool one = !flags.name.empty();
  FollowOptions follow{.name = flags.name, .must_exist = one, .output = options.output};
  if (one || !options.all_namespaces) follow.ns = options.ns;
  if (one) follow.until = IsFinished;
  const absl::StatusOr<kube::v1::JobPhase> phase = Follow(client, follow);
  BASALT_RETURN_IF_ERROR(OrHistory(phase.status(), client, options, flags));
  return *phase == kube::v1::JOB_PHASE_COMPLETED ? kExitDone : kExitJobNotCompleted;
}

absl::StatusOr<int> ExplainJob(const GlobalOptions& options, const Flags& flags) {
  JobClient client(options.gateway);
  const absl::StatusOr<job::v1::JobExplanation> explanation =
      client.Ask(&JobStub::ExplainJob, About<job::v1::ExplainJobRequest>(options, flags));
  BASALT_RETURN_IF_ERROR(OrHistory(explanation.status(), client, options, flags));
  return Show(options, *explanation, [&] { return FormatExplanation(*explanation, StandardLook().width); });
}

absl::StatusOr<int> ShowJobHistory(const GlobalOptions& options, const Flags& flags) {
  JobClient client(options.gateway);
  const absl::StatusOr<job::v1::JobHistory> history =
      client.Ask(&JobStub::GetJobHistory, About<job::v1::GetJobHistoryRequest>(options, flags));
  BASALT_RETURN_IF_ERROR(kJob.OrList(history.status(), options));
  if (!options.output.empty()) {
    Print(FormatMessage(*history, options.output));
    return kExitDone;
  }
  if (!history->entries().empty()) Print(FormatHistory(*history, StandardLook()));
  std::fputs(FormatGap(*history, fmt::format("{}/{}", options.ns, flags.name)).c_str(), stderr);
  return kExitDone;
}

std::vector<Verb> JobVerbs() {
  return {
      Verb("submit", "Submit the jobs of a manifest", Submit,
           {Switch("-f,--filename", &Flags::files,
                   "Manifest, YAML or JSON; may be given several times; - reads standard input",
                   {.required = true, .one_value = true, .type = "FILE"}),
            Switch("--dry-run", &Flags::dry_run, "Set defaults and validate only; submit nothing"),
            Switch("-w,--watch", &Flags::watch, "Follow the (last) job until it is finished")}),
      Verb("list", "List jobs", ListJobs,
           {Switch("--phase", &Flags::phases, "Only jobs in one of these phases, comma separated",
                   {.delimiter = ',', .type = PhaseSet()}),
            Switch("--queue", &Flags::queue, "Only jobs of this queue"),
            Switch("-l,--selector", &Flags::selector, "Only jobs with these labels: team=ml,stage in (a,b),!old")}),
      Verb("get", "Show one job and its pods", GetJob, {kJob.Name()}),
      Verb("watch", "Follow one job until it is finished, or all jobs", WatchJobs, {kJob.OptionalName()}),
      Verb("explain", "Explain why a job is in its state, and what can be done", ExplainJob, {kJob.Name()}),
      Verb("history", "Show every decision about a job", ShowJobHistory, {kJob.Name(), kJob.OlderUid()}),
      Verb("delete", "Delete a job and what it owns", Deletes<JobClient>(kJob, &JobStub::DeleteJob),
           {kJob.Name(), kJob.Uid()}),
  };
}

}  // namespace

void AddJobCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App& group = AddGroup(app, "job", "Batch jobs");
  AddJobActions(group, options, exit_code);
  AddRenderCommands(group, options, exit_code);
  AddVerbs(group, options, exit_code, JobVerbs());
}

}  // namespace basalt::cli
