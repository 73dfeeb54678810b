// Commands that need no cluster: they list the plugins of jobs, and print the objects that a manifest becomes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/manifest.h"
#include "cli/verbs.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/plugin_view.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"
#include "services/jobsvc/core/spec/rendered_job.h"

namespace basalt::cli {
namespace {

// Prints the objects of many jobs, as a YAML stream or as one List in JSON.
class ObjectPrinter {
 public:
  explicit ObjectPrinter(bool as_json) : as_json_(as_json) {
    if (as_json_) Print(R"({"apiVersion":"v1","kind":"List","items":[)");
  }
  absl::Status Add(const std::string& object) {
    if (as_json_) {
      Print((is_first_ ? "\n" : ",\n") + PrintableJson(object));
    } else {
      BASALT_ASSIGN_OR_RETURN(const json::value parsed, ParseJson(object));
      Print((is_first_ ? "" : "---\n") + ToYaml(parsed));
    }
    is_first_ = false;
    return absl::OkStatus();
  }
  void End() const {
    if (as_json_) Print("\n]}\n");
  }

 private:
  const bool as_json_;
  bool is_first_ = true;
};

// Makes every object before the first is printed, so that an error is printed alone. Pods are many: they are not kept,
// but made anew one by one when they are printed.
absl::StatusOr<int> Render(const GlobalOptions& options, const Flags& flags) {
  if (flags.index >= 0 && flags.task.empty())
    return Invalid("--index names a pod of one task: name the task with --task");
  BASALT_ASSIGN_OR_RETURN(const std::vector<JobManifest> manifests, ReadJobManifests(flags.file));
  const std::unique_ptr<jobsvc::SshKeySource> source = jobsvc::MakeRsaKeySource();
  const jobsvc::RenderedJob::Which which = {.task = flags.task, .index = flags.index};
  struct Job {
    jobsvc::RenderedJob rendered;
    std::vector<std::string> objects;  // Empty if the user requests the pods of one task.
  };
  std::vector<Job> jobs;
  for (const JobManifest& manifest : manifests) {
    const std::string ns = options.ns_given || manifest.ns.empty() ? options.ns : "";
    absl::StatusOr<jobsvc::Manifest> read = jobsvc::ReadManifest(manifest.json, ns);
    BASALT_RETURN_IF_ERROR(AnnotateLines(read.status(), manifest.source));
    job::v1::Job warned;
    warned.mutable_warnings()->Assign(read->warnings.begin(), read->warnings.end());
    std::fputs(FormatWarnings(manifest.source, warned).c_str(), stderr);
    absl::StatusOr<jobsvc::RenderedJob> rendered = jobsvc::RenderedJob::Create(std::move(read->job));
    BASALT_RETURN_IF_ERROR(AnnotateLines(rendered.status(), manifest.source));
    std::vector<std::string> objects;
    if (flags.task.empty()) {
      jobsvc::SshKeyPair keys;
      if (rendered->NeedsSshKeys()) {
        BASALT_ASSIGN_OR_RETURN(keys, source->MakeSshKeyPair(""));
      }
      absl::StatusOr<std::vector<std::string>> made = rendered->Objects(keys);
      BASALT_RETURN_IF_ERROR(AnnotateLines(made.status(), manifest.source));
      objects = *std::move(made);
    }
    BASALT_RETURN_IF_ERROR(AnnotateLines(rendered->ForEachPod(which, [](std::string) {}), manifest.source));
    jobs.push_back({*std::move(rendered), std::move(objects)});
  }
  ObjectPrinter printer(options.output == "json");
  for (const Job& job : jobs) {
    for (const std::string& object : job.objects) BASALT_RETURN_IF_ERROR(printer.Add(object));
    absl::Status printed;
    BASALT_RETURN_IF_ERROR(job.rendered.ForEachPod(which, [&](const std::string& pod) {
      if (printed.ok()) printed = printer.Add(pod);
    }));
    BASALT_RETURN_IF_ERROR(printed);
  }
  printer.End();
  return kExitDone;
}

absl::StatusOr<int> Plugins(const GlobalOptions& options, const Flags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "job plugins"));
  std::vector<PluginDescription> all;
  for (const std::string_view name : jobsvc::KnownPlugins()) {
    if (!flags.name.empty() && name != flags.name) continue;
    const std::unique_ptr<jobsvc::Plugin> plugin = jobsvc::MakePlugin(name);
    PluginDescription& description = all.emplace_back();
    description.name = std::string(name);
    description.summary = std::string(plugin->Summary());
    for (const jobsvc::FlagDescription& flag : plugin->Flags()) {
      description.arguments.push_back({flag.name, flag.default_value, flag.text});
    }
  }
  if (all.empty()) {
    return Invalid(fmt::format("'{}' is no plugin; there are {}", flags.name, fmt::join(jobsvc::KnownPlugins(), ", ")));
  }
  Print(flags.name.empty() ? FormatPlugins(all, StandardLook()) : FormatPlugin(all.front(), StandardLook()));
  return kExitDone;
}

}  // namespace

void AddRenderCommands(CLI::App& job, GlobalOptions& options, int& exit_code) {
  const std::vector<Verb> verbs = {
      Verb("render", "Print the objects and pods that a job would have, without a cluster", Render,
           {Switch("-f,--filename", &Flags::file, "Manifest, YAML or JSON; - reads standard input",
                   {.required = true, .type = "FILE"}),
            Switch("--task", &Flags::task, "Only pods of this task"),
            Switch("--index", &Flags::index, "Only the pod with this index in the task",
                   {.checks = {CLI::NonNegativeNumber}})}),
      Verb("plugins", "The plugins of jobs, or one with its arguments", Plugins,
           {Switch("name", &Flags::name, "Name of the plugin")}),
  };
  AddVerbs(job, options, exit_code, verbs);
}

}  // namespace basalt::cli
