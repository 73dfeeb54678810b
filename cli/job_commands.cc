#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/follow/follow.h"
#include "cli/manifest.h"
#include "cli/view/explain_view.h"
#include "cli/view/job_detail.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

std::string JobsThereAre(const GlobalOptions& options) {
  return fmt::format("basaltctl job list -n {} tells those that there are", options.ns);
}

struct JobFlags {
  std::vector<std::string> files;
  std::string name;
  std::string uid;
  std::vector<std::string> phases;
  std::string queue;
  std::string selector;
  bool dry_run = false;
  bool watch = false;
};

// Returns the status. The message of NOT_FOUND advises `job history` if there is a history of the job, else `job list`.
absl::Status OrHistory(const absl::Status& status, JobClient& client, const GlobalOptions& options,
                       const std::string& name) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  job::v1::GetJobHistoryRequest request;
  request.set_namespace_(options.ns);
  request.set_name(name);
  job::v1::JobHistory history;
  const absl::Status fetched =
      client.Ask([&](auto& stub, auto* context) { return stub.GetJobHistory(context, request, &history); });
  if (!fetched.ok() || history.entries().empty()) return OrLookAt(status, JobsThereAre(options));
  return OrLookAt(status, fmt::format("basaltctl job history {} -n {} tells what became of it", name, options.ns));
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

absl::StatusOr<int> Submit(const GlobalOptions& options, const JobFlags& flags) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<JobManifest> manifests, ReadAll(flags.files));
  JobClient client(options.gateway);
  const auto submit = [&](const JobManifest& manifest, bool dry_run) -> absl::StatusOr<job::v1::Job> {
    job::v1::SubmitJobRequest request;
    request.set_manifest_json(manifest.json);
    // -n overrides the namespace of a manifest.
    if (options.ns_given || manifest.ns.empty()) request.set_namespace_(options.ns);
    request.set_dry_run(dry_run);
    job::v1::Job job;
    const auto send = [&](auto& stub, auto* context) { return stub.SubmitJob(context, request, &job); };
    BASALT_RETURN_IF_ERROR(AnnotateLines(dry_run ? client.Ask(send) : client.Order(send), manifest.source));
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

absl::StatusOr<int> List(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::ListJobsRequest request;
  if (!options.all_namespaces) request.set_namespace_(options.ns);
  request.set_queue(flags.queue);
  request.set_label_selector(flags.selector);
  BASALT_ASSIGN_OR_RETURN(const std::vector<kube::v1::JobPhase> phases, ParsePhases("--phase", flags.phases));
  request.mutable_phases()->Assign(phases.begin(), phases.end());
  const auto list = [](auto& stub, const auto&... arguments) { return stub.ListJobs(arguments...); };
  BASALT_ASSIGN_OR_RETURN(const auto all, AskAllPages<job::v1::ListJobsResponse>(client, request, list));
  if (!options.output.empty()) {
    Print(FormatList(all, options.output));
  } else if (all.jobs_size() == 0) {
    std::fprintf(stderr, "No jobs found%s\n",
                 options.all_namespaces ? "" : fmt::format(" in namespace {}; -A looks in all", options.ns).c_str());
  } else {
    Print(FormatJobs({all.jobs().pointer_begin(), all.jobs().pointer_end()}, options.all_namespaces,
                     absl::ToUnixMillis(absl::Now()), StandardLook()));
  }
  return kExitDone;
}

absl::StatusOr<int> Get(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::GetJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  job::v1::Job job;
  const auto get = [&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); };
  BASALT_RETURN_IF_ERROR(OrHistory(client.Ask(get), client, options, flags.name));
  if (!options.output.empty()) {
    Print(FormatMessage(job, options.output));
    return kExitDone;
  }
  // The job is printed even if its history cannot be fetched.
  job::v1::GetJobHistoryRequest of_it;
  of_it.set_namespace_(options.ns);
  of_it.set_name(flags.name);
  of_it.set_uid(job.object().meta().uid());
  job::v1::JobHistory history;
  const absl::Status fetched =
      client.Ask([&](auto& stub, auto* context) { return stub.GetJobHistory(context, of_it, &history); });
  if (!fetched.ok()) history.Clear();
  Print(FormatJob(job, history, absl::ToUnixMillis(absl::Now()), StandardLook()));
  return kExitDone;
}

absl::StatusOr<int> Watch(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  const bool one = !flags.name.empty();
  FollowOptions follow{.name = flags.name, .must_exist = one, .output = options.output};
  if (one || !options.all_namespaces) follow.ns = options.ns;
  if (one) follow.until = IsFinished;
  const absl::StatusOr<kube::v1::JobPhase> phase = Follow(client, follow);
  BASALT_RETURN_IF_ERROR(OrHistory(phase.status(), client, options, flags.name));
  return *phase == kube::v1::JOB_PHASE_COMPLETED ? kExitDone : kExitJobNotCompleted;
}

absl::StatusOr<int> Explain(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::ExplainJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  job::v1::JobExplanation explanation;
  const auto ask = [&](auto& stub, auto* context) { return stub.ExplainJob(context, request, &explanation); };
  BASALT_RETURN_IF_ERROR(OrHistory(client.Ask(ask), client, options, flags.name));
  Print(options.output.empty() ? FormatExplanation(explanation, StandardLook().width)
                               : FormatMessage(explanation, options.output));
  return kExitDone;
}

absl::StatusOr<int> History(const GlobalOptions& options, const JobFlags& flags) {
  JobClient client(options.gateway);
  job::v1::GetJobHistoryRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  job::v1::JobHistory history;
  const auto get = [&](auto& stub, auto* context) { return stub.GetJobHistory(context, request, &history); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Ask(get), JobsThereAre(options)));
  if (!options.output.empty()) {
    Print(FormatMessage(history, options.output));
    return kExitDone;
  }
  if (!history.entries().empty()) Print(FormatHistory(history, StandardLook()));
  std::fputs(FormatGap(history, fmt::format("{}/{}", options.ns, flags.name)).c_str(), stderr);
  return kExitDone;
}

absl::StatusOr<int> Delete(const GlobalOptions& options, const JobFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "job delete"));
  JobClient client(options.gateway);
  job::v1::DeleteJobRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  job::v1::DeleteJobResponse response;
  const auto order = [&](auto& stub, auto* context) { return stub.DeleteJob(context, request, &response); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Order(order), JobsThereAre(options)));
  PrintLine(fmt::format("job {}/{} deleted", options.ns, flags.name));
  return kExitDone;
}

}  // namespace

void AddJobCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App& group = AddGroup(app, "job", "Batch jobs");
  AddJobActions(group, options, exit_code);
  AddRenderCommands(group, options, exit_code);
  const Commands<JobFlags> job(group, options, exit_code);
  JobFlags& flags = job.flags();
  CLI::App* submit = job.Add("submit", "Submit the jobs of a manifest", Submit);
  submit
      ->add_option("-f,--filename", flags.files,
                   "Manifest, YAML or JSON; may be given several times; - reads standard input")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  submit->add_flag("--dry-run", flags.dry_run, "Set defaults and validate only; submit nothing");
  submit->add_flag("-w,--watch", flags.watch, "Follow the (last) job until it is finished");
  CLI::App* list = job.Add("list", "List jobs", List);
  list->add_option("--phase", flags.phases, "Only jobs in one of these phases, comma separated")
      ->delimiter(',')
      ->type_name(PhaseSet());
  list->add_option("--queue", flags.queue, "Only jobs of this queue");
  list->add_option("-l,--selector", flags.selector, "Only jobs with these labels: team=ml,stage in (a,b),!old");
  job.Add("get", "Show one job and its pods", Get)->add_option("name", flags.name, "Name of the job")->required();
  job.Add("watch", "Follow one job until it is finished, or all jobs", Watch)
      ->add_option("name", flags.name, "Name of the job");
  job.Add("explain", "Explain why a job is in its state, and what can be done", Explain)
      ->add_option("name", flags.name, "Name of the job")
      ->required();
  CLI::App* history = job.Add("history", "Show every decision about a job", History);
  history->add_option("name", flags.name, "Name of the job")->required();
  history->add_option("--uid", flags.uid, "UID, for an older job of the same name");
  CLI::App* remove = job.Add("delete", "Delete a job and what it owns", Delete);
  remove->add_option("name", flags.name, "Name of the job")->required();
  remove->add_option("--uid", flags.uid, "Only if the job has this UID");
}

}  // namespace basalt::cli
